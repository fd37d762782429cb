//! Decides whether a value that is assigned to a name is a secret.

use super::names::Strength;
use super::passwords::is_password;
use super::values::{
    Form, entropy, is_aws_secret, is_hex, is_identifier, is_path, is_placeholder, is_reference, is_slug, is_uuid, restlessness,
};
use super::words::wordiness;

/// Returns whether a value, assigned to a name of the given strength, is a secret.
pub(super) fn is_secret(value: &str, strength: Strength, form: Form) -> bool {
    if strength == Strength::Password {
        return is_password(value, form);
    }
    let bytes = value.as_bytes();
    if bytes.len() < 8 || bytes.len() > 4096 {
        return false;
    }
    if strength == Strength::Strong && is_aws_secret(bytes) {
        return true;
    }
    if bytes.iter().any(|b| b.is_ascii_whitespace() || b.is_ascii_control())
        || value.contains("://")
        || (value.contains('(') && (!matches!(form, Form::Quoted) || restlessness(bytes) < 0.3))
        || is_placeholder(value)
        || is_reference(value)
        || is_identifier(value)
    {
        return false;
    }
    let has_digit = bytes.iter().any(u8::is_ascii_digit);
    let has_letter = bytes.iter().any(u8::is_ascii_alphabetic);
    if !has_letter {
        return false;
    }
    let rest = restlessness(bytes);
    let bits = entropy(&bytes[..bytes.len().min(512)]);
    let is_digest = is_uuid(bytes) || (bytes.len() >= 16 && is_hex(bytes));
    if is_digest {
        return strength != Strength::Weak && has_digit && bits >= 2.5;
    }
    // Forty characters of base64 may begin with a slash or contain several.
    if is_path(value) || value.contains('[') && value.contains(']') {
        return false;
    }
    match (strength, form) {
        (Strength::Weak, _) => {
            bytes.len() >= 16
                && has_digit
                && bits >= 3.2
                && rest >= 0.25
                && !is_slug(value)
                && (matches!(form, Form::Quoted | Form::Variable) || bytes.len() >= 20)
        }
        (_, Form::Quoted | Form::Variable) => {
            let is_random = bytes.len() >= 14 && wordiness(value) < 0.5;
            !is_slug(value)
                && bits >= 2.75
                && ((has_digit && (rest >= 0.15 || bytes.len() >= 16 || is_random)) || (is_random && bits >= 3.0))
        }
        (_, Form::Line | Form::Bare) => {
            !is_slug(value)
                && bits >= 3.0
                && has_digit
                && bytes.len() >= 12
                && (rest >= 0.3 || (bytes.len() >= 20 && rest >= 0.2))
        }
    }
}
