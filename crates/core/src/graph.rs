//! Weighted graphs, and the random walk with restart over them (personalised PageRank).

/// A directed graph whose edges from a node are the probabilities of the next step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WeightedGraph {
    /// Index of the first edge of each node, and the number of edges.
    starts: Vec<u32>,
    /// Node and probability of each edge, by the node that it leaves.
    edges: Vec<(u32, f32)>,
}

impl WeightedGraph {
    /// Makes a graph of `nodes` nodes. Each edge (from, to, weight) goes both ways; weights are positive.
    pub fn undirected(nodes: usize, edges: &[(u32, u32, f32)]) -> Self {
        let mut starts = vec![0u32; nodes + 1];
        let mut sums = vec![0.0f32; nodes];
        for &(from, to, weight) in edges {
            for node in [from, to] {
                starts[node as usize + 1] += 1;
                sums[node as usize] += weight;
            }
        }
        for node in 0..nodes {
            starts[node + 1] += starts[node];
        }
        let mut next: Vec<u32> = starts[..nodes].to_vec();
        let mut placed = vec![(0u32, 0.0f32); 2 * edges.len()];
        for &(from, to, weight) in edges {
            for (node, other) in [(from, to), (to, from)] {
                let at = &mut next[node as usize];
                placed[*at as usize] = (other, weight / sums[node as usize]);
                *at += 1;
            }
        }
        Self { starts, edges: placed }
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Returns whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the edges of a node: the other end, and the probability of that step.
    pub fn edges_of(&self, node: u32) -> &[(u32, f32)] {
        let node = node as usize;
        &self.edges[self.starts[node] as usize..self.starts[node + 1] as usize]
    }

    /// Returns where a random walk is found that goes on with probability `damping` at each step and else
    /// starts anew at a seed (Personalized PageRank), approximately: forward push after Andersen, Chung and
    /// Lang ("Local Graph Partitioning using PageRank Vectors", 2006), which moves what is left at a node to its
    /// neighbours until no node has more than `least` left. `seeds` are nodes with their share of the
    /// restarts. Returns the nodes that were reached, with their probabilities, in no order.
    pub fn walk(&self, seeds: &[(u32, f32)], damping: f32, least: f32) -> Vec<(u32, f32)> {
        let mut found = vec![0.0f32; self.len()];
        let mut left = vec![0.0f32; self.len()];
        let mut is_waiting = vec![false; self.len()];
        let mut waiting = std::collections::VecDeque::new();
        let mut reached = Vec::new();
        for &(node, share) in seeds {
            left[node as usize] += share;
            if !std::mem::replace(&mut is_waiting[node as usize], true) {
                waiting.push_back(node);
            }
        }
        while let Some(node) = waiting.pop_front() {
            let at = node as usize;
            is_waiting[at] = false;
            let moved = std::mem::take(&mut left[at]);
            if found[at] == 0.0 && moved > 0.0 {
                reached.push(node);
            }
            let edges = self.edges_of(node);
            if edges.is_empty() {
                // A walk that cannot go on starts anew.
                found[at] += moved;
                continue;
            }
            found[at] += (1.0 - damping) * moved;
            for &(other, probability) in edges {
                let to = other as usize;
                left[to] += damping * moved * probability;
                if left[to] > least && !std::mem::replace(&mut is_waiting[to], true) {
                    waiting.push_back(other);
                }
            }
        }
        reached.into_iter().map(|node| (node, found[node as usize])).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The same by power iteration.
    fn oracle(graph: &WeightedGraph, seeds: &[(u32, f32)], damping: f32) -> Vec<f32> {
        let mut restart = vec![0.0f32; graph.len()];
        seeds.iter().for_each(|(node, share)| restart[*node as usize] += share);
        let mut now = restart.clone();
        for _ in 0..300 {
            let mut next: Vec<f32> = restart.iter().map(|share| (1.0 - damping) * share).collect();
            for (node, mass) in now.iter().enumerate() {
                for (other, probability) in graph.edges_of(node as u32) {
                    next[*other as usize] += damping * mass * probability;
                }
            }
            now = next;
        }
        now
    }

    #[test]
    fn a_walk_stays_near_its_seeds() {
        // 0 - 1 - 2 - 3
        let graph = WeightedGraph::undirected(5, &[(0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0)]);
        let mut found = graph.walk(&[(0, 1.0)], 0.6, 1e-7);
        found.sort_unstable_by_key(|(node, _)| *node);
        let order: Vec<u32> = found.iter().map(|(node, _)| *node).collect();
        assert_eq!(order, [0, 1, 2, 3], "4 has no edge");
        assert!(found[0].1 > found[2].1 && found[1].1 > found[2].1 && found[2].1 > found[3].1);
        assert!(WeightedGraph::default().walk(&[], 0.6, 1e-7).is_empty());
        assert_eq!(graph.walk(&[(4, 1.0)], 0.6, 1e-7), [(4, 1.0)]);
    }

    proptest! {
        #[test]
        fn push_is_near_power_iteration(
            edges in proptest::collection::vec((0u32..30, 30u32..50, 0.1f32..5.0), 1..120), seeds in proptest::collection::vec((0u32..50, 0.1f32..1.0), 1..6)
        ) {
            let graph = WeightedGraph::undirected(50, &edges);
            let seeds: Vec<(u32, f32)> = seeds.into_iter().filter(|(node, _)| !graph.edges_of(*node).is_empty()).collect();
            let expected = oracle(&graph, &seeds, 0.6);
            let mut found = [0.0; 50];
            for (node, mass) in graph.walk(&seeds, 0.6, 1e-6) {
                found[node as usize] = mass;
            }
            for node in 0..50 {
                prop_assert!((found[node] - expected[node]).abs() < 1e-3, "{}: {} and {}", node, found[node], expected[node]);
            }
        }
    }
}
