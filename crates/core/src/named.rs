//! The macro for enums whose members have a stored and a displayed name.

/// Declares a closed set with stored names.
macro_rules! named_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        pub enum $name { $($(#[$vdoc])* #[serde(rename = $text)] $variant),+ }

        impl $name {
            /// Every member, in declaration order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The stored and displayed name.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }

            /// The member with this name.
            pub fn parse(name: &str) -> Option<Self> {
                match name { $($text => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

/// Declares a set that a later yore may extend, for messages between two yores of possibly different
/// versions. An unknown name is read as `Other`, which is the last member.
macro_rules! open_named_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        #[serde(from = "String", into = "&'static str")]
        pub enum $name {
            $($(#[$vdoc])* $variant,)+
            /// A member that this version does not know.
            Other,
        }

        impl $name {
            /// Every known member, in declaration order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The name.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ Self::Other => "other" }
            }
        }

        impl From<String> for $name {
            fn from(name: String) -> Self {
                match name.as_str() { $($text => Self::$variant,)+ _ => Self::Other }
            }
        }

        impl From<$name> for &'static str {
            fn from(member: $name) -> Self {
                member.as_str()
            }
        }
    };
}

#[cfg(test)]
mod tests {
    open_named_enum! {
        /// Made up.
        Fruit { Fig = "fig", Plum = "plum" }
    }

    #[test]
    fn a_name_of_a_later_version_is_read_as_other() {
        assert_eq!((Fruit::from("plum".to_owned()), Fruit::from("quince".to_owned())), (Fruit::Plum, Fruit::Other));
        for fruit in Fruit::ALL {
            assert_eq!(Fruit::from(<&str>::from(*fruit).to_owned()), *fruit);
        }
    }
}
