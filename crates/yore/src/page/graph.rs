//! The neighbourhood of a thing as a small graph: the thing in the middle, and what it is related to on one or two circles.
//!
//! A list beside it says the same, so the graph is hidden from those who read the list.

use std::f64::consts::{PI, TAU};

use maud::{Markup, html};

use super::parts::segment;

/// Most neighbours in the graph, and on its inner circle.
const MOST: usize = 16;
const INNER: usize = 8;
/// Width and height of the picture.
const SIZE: (f64, f64) = (760.0, 440.0);
/// Most characters of a label.
const LABEL: usize = 20;

/// A thing that another one is related to.
#[derive(Clone, Debug)]
pub struct Neighbour {
    /// Its kind: memory, entity, turn, session, file, context.
    pub kind: String,
    /// Its id, or a path.
    pub id: String,
    /// Its name or statement.
    pub label: String,
    /// Name of the relation, read from the middle.
    pub relation: String,
}

impl Neighbour {
    /// Returns the path of its view, if it has one.
    fn path(&self) -> Option<String> {
        match self.kind.as_str() {
            "memory" => Some(format!("memories/{}", segment(&self.id))),
            "entity" => Some(format!("entities/{}", segment(&self.id))),
            "turn" => Some(format!("turn/{}", segment(&self.id))),
            "session" => Some(format!("session/{}", segment(&self.id))),
            _ => None,
        }
    }
}

/// Returns the link to a neighbour, or its name.
pub fn link(neighbour: &Neighbour) -> Markup {
    html! { @match neighbour.path() { Some(path) => a href=(path) { (neighbour.label) }, None => code { (neighbour.label) } } }
}

/// Returns the graph around a thing.
pub fn around(middle: &str, neighbours: &[Neighbour]) -> Markup {
    let shown = &neighbours[..neighbours.len().min(MOST)];
    let inner = if shown.len() <= INNER + 2 { shown.len() } else { INNER };
    let (x, y) = (SIZE.0 / 2.0, SIZE.1 / 2.0);
    // With one circle, the picture ends above and below it.
    let (top, height) = if inner == shown.len() { (50.0, SIZE.1 - 100.0) } else { (0.0, SIZE.1) };
    let places: Vec<(f64, f64)> = (0..shown.len()).map(|at| place(at, inner, shown.len())).collect();
    // One neighbour is no neighbourhood: the list says it.
    let has_picture = shown.len() > 1;
    html! {
        @if has_picture { svg.graph viewBox={ "0 " (top) " " (SIZE.0) " " (height) } aria-hidden="true" focusable="false" {
            @for (px, py) in &places { line x1=(x) y1=(y) x2=(px) y2=(py) {} }
            @for ((px, py), neighbour) in places.iter().zip(shown) {
                @if let Some(path) = neighbour.path() {
                    a href=(path) tabindex="-1" { (node(*px, *py, neighbour)) }
                } @else {
                    (node(*px, *py, neighbour))
                }
            }
            circle.middle cx=(x) cy=(y) r="9" {}
            text.name x=(x) y=(y + 26.0) text-anchor="middle" { (cut(middle, LABEL + 8)) }
        } }
        @if neighbours.len() > MOST { p.quiet { "The graph shows the first " (MOST) " of " (neighbours.len()) "; the list has all." } }
    }
}

/// Returns the place of a neighbour on its circle, beginning at the top.
fn place(at: usize, inner: usize, all: usize) -> (f64, f64) {
    let (number, count, rx, ry) = if at < inner { (at, inner, 200.0, 115.0) } else { (at - inner, all - inner, 310.0, 195.0) };
    // The outer circle is turned by half a step, so that its labels stand between those of the inner one.
    let turn = if at < inner { 0.0 } else { 0.5 };
    let angle = (number as f64 + turn) / count.max(1) as f64 * TAU - PI / 2.0;
    let round = |value: f64| (value * 10.0).round() / 10.0;
    (round(SIZE.0 / 2.0 + rx * angle.cos()), round(SIZE.1 / 2.0 + ry * angle.sin()))
}

fn node(x: f64, y: f64, neighbour: &Neighbour) -> Markup {
    let is_below = y >= SIZE.1 / 2.0;
    let (name, relation) = if is_below { (y + 20.0, y + 34.0) } else { (y - 24.0, y - 11.0) };
    html! {
        g {
            title { (neighbour.label) }
            @if neighbour.kind == "entity" { rect.dot x=(x - 6.0) y=(y - 6.0) width="12" height="12" {} } @else { circle cx=(x) cy=(y) r="6" {} }
            text.name x=(x) y=(name.max(10.0)) text-anchor="middle" { (cut(&neighbour.label, LABEL)) }
            text.relation x=(x) y=(relation.max(22.0)) text-anchor="middle" { (neighbour.relation) }
        }
    }
}

/// Cuts a label.
fn cut(label: &str, most: usize) -> String {
    let label = label.split_whitespace().collect::<Vec<_>>().join(" ");
    if label.chars().count() <= most { label } else { label.chars().take(most - 1).chain(['…']).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn neighbours(count: usize) -> Vec<Neighbour> {
        let of = |at: usize| Neighbour {
            kind: if at.is_multiple_of(2) { "memory" } else { "entity" }.to_owned(),
            id: format!("id{at}"),
            label: format!("</text><script> number {at} with a long name"),
            relation: "about".to_owned(),
        };
        (0..count).map(of).collect()
    }

    #[test]
    fn a_graph_has_at_most_sixteen_neighbours_inside_its_picture() {
        for count in [2, 8, 11, 16, 40] {
            let graph = around("the middle", &neighbours(count)).into_string();
            assert_eq!(graph.matches("<line").count(), count.min(MOST), "{count}");
            assert!(!graph.contains("<script"));
            for at in 0..count.min(MOST) {
                let (x, y) = place(at, INNER.min(count), count.min(MOST));
                assert!((0.0..=SIZE.0).contains(&x) && (20.0..=SIZE.1 - 20.0).contains(&y), "{x} {y}");
            }
        }
    }

    #[test]
    fn one_neighbour_needs_no_picture() {
        assert!(!around("the middle", &neighbours(1)).into_string().contains("<svg"));
    }

    #[test]
    fn labels_are_cut_on_characters() {
        assert_eq!(cut("größe größe größe größe", 10), "größe grö…");
        assert_eq!(cut("short", 10), "short");
    }
}
