//! Bounding volume hierarchy over boxes in one flat array, built the same way every time.

use super::Bounds;
use glam::DVec3;

/// Items in a leaf at most, unless they cannot be told apart.
const LEAF: usize = 4;
const BINS: usize = 16;
/// Below this depth the split is by count, which bounds the depth of the whole tree.
const SAH_DEPTH: usize = 48;
/// More than the depth can be: 48 by cost, then 32 halvings.
const STACK: usize = 96;

/// One box of the tree. A leaf holds `count` items from `first`; an inner node has `count` 0 and children `first`, `first + 1`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Node {
    pub bounds: Bounds,
    pub first: u32,
    pub count: u32,
}

/// The tree; children come after their parents.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bvh {
    pub nodes: Vec<Node>,
    /// Items in the order of the leaves.
    pub order: Vec<u32>,
}

impl Bvh {
    /// Tree over the boxes; binned surface area heuristic.
    pub fn new(boxes: &[Bounds]) -> Self {
        let mut order: Vec<u32> = (0..boxes.len() as u32).collect();
        let mut nodes = Vec::with_capacity(boxes.len());
        if boxes.is_empty() {
            return Self { nodes, order };
        }
        let leaf = |first: usize, items: &[u32]| Node {
            bounds: items.iter().fold(Bounds::EMPTY, |b, &i| b.union(boxes[i as usize])),
            first: first as u32,
            count: items.len() as u32,
        };
        nodes.push(leaf(0, &order));
        let mut open = vec![(0_usize, 0_usize)];
        while let Some((node, depth)) = open.pop() {
            let (first, count) = (nodes[node].first as usize, nodes[node].count as usize);
            if count <= LEAF {
                continue;
            }
            let items = &mut order[first..first + count];
            let Some(middle) = split(items, boxes, depth) else { continue };
            let child = nodes.len();
            let (left, right) = order[first..first + count].split_at(middle);
            let children = [leaf(first, left), leaf(first + middle, right)];
            nodes.extend(children);
            nodes[node].first = child as u32;
            nodes[node].count = 0;
            open.push((child + 1, depth + 1));
            open.push((child, depth + 1));
        }
        Self { nodes, order }
    }

    /// Visits leaves nearest first, as long as their box is nearer than the squared distance that `visit` gave last.
    /// `visit` gets the range of items in leaf order and the squared distance so far.
    #[inline]
    pub fn nearest(&self, p: DVec3, mut best: f64, mut visit: impl FnMut(std::ops::Range<usize>, f64) -> f64) {
        let least = |n: usize| squared_distance(&self.nodes[n].bounds, p);
        if self.nodes.is_empty() {
            return;
        }
        let mut stack = [(0.0_f64, 0_u32); STACK];
        let mut top = 0;
        let mut current = 0_usize;
        loop {
            let Node { first, count, .. } = self.nodes[current];
            if count > 0 {
                best = visit(first as usize..(first + count) as usize, best);
            } else {
                let (mut near, mut far) = (first, first + 1);
                let mut d_near = least(near as usize);
                let mut d_far = least(far as usize);
                if d_far < d_near {
                    (near, far, d_near, d_far) = (far, near, d_far, d_near);
                }
                if d_near < best {
                    if d_far < best {
                        stack[top] = (d_far, far);
                        top += 1;
                    }
                    current = near as usize;
                    continue;
                }
            }
            loop {
                if top == 0 {
                    return;
                }
                top -= 1;
                if stack[top].0 < best {
                    current = stack[top].1 as usize;
                    break;
                }
            }
        }
    }

    /// Visits all leaves whose box overlaps `bounds`.
    pub fn overlapping(&self, bounds: Bounds, mut visit: impl FnMut(std::ops::Range<usize>)) {
        let mut stack = [0_u32; STACK];
        let mut top = usize::from(!self.nodes.is_empty());
        while top > 0 {
            top -= 1;
            let node = &self.nodes[stack[top] as usize];
            if !node.bounds.overlaps(bounds) {
                continue;
            }
            if node.count > 0 {
                visit(node.first as usize..(node.first + node.count) as usize);
            } else {
                stack[top] = node.first;
                stack[top + 1] = node.first + 1;
                top += 2;
            }
        }
    }
}

#[inline]
fn squared_distance(b: &Bounds, p: DVec3) -> f64 {
    (b.min - p).max(p - b.max).max(DVec3::ZERO).length_squared()
}

/// Reorders the items and says how many go left; none if all are at the same place.
fn split(items: &mut [u32], boxes: &[Bounds], depth: usize) -> Option<usize> {
    let center = |i: u32| boxes[i as usize].center();
    let extent = Bounds::of(items.iter().map(|&i| center(i)));
    let size = extent.size();
    if size.max_element() <= 0.0 {
        return None;
    }
    if depth < SAH_DEPTH
        && let Some((axis, border)) = best_border(items, boxes, extent)
    {
        // Stable: keeps the order within each side.
        let (left, right): (Vec<u32>, Vec<u32>) =
            items.iter().partition(|&&i| bin(center(i)[axis], extent, axis) < border);
        if !left.is_empty() && !right.is_empty() {
            items[..left.len()].copy_from_slice(&left);
            items[left.len()..].copy_from_slice(&right);
            return Some(left.len());
        }
    }
    let axis = if size.x >= size.y && size.x >= size.z {
        0
    } else if size.y >= size.z {
        1
    } else {
        2
    };
    items.sort_unstable_by(|&i, &j| center(i)[axis].total_cmp(&center(j)[axis]).then(i.cmp(&j)));
    Some(items.len() / 2)
}

fn bin(x: f64, extent: Bounds, axis: usize) -> usize {
    let scale = BINS as f64 / (extent.max[axis] - extent.min[axis]);
    (((x - extent.min[axis]) * scale) as usize).min(BINS - 1)
}

/// Axis and first bin of the right side with the least area-weighted cost.
fn best_border(items: &[u32], boxes: &[Bounds], extent: Bounds) -> Option<(usize, usize)> {
    let mut best: Option<(f64, usize, usize)> = None;
    for axis in 0..3 {
        if extent.max[axis] <= extent.min[axis] {
            continue;
        }
        let mut bins = [(Bounds::EMPTY, 0_usize); BINS];
        for &i in items {
            let slot = &mut bins[bin(boxes[i as usize].center()[axis], extent, axis)];
            slot.0 = slot.0.union(boxes[i as usize]);
            slot.1 += 1;
        }
        let mut right = [0.0; BINS];
        let (mut bounds, mut count) = (Bounds::EMPTY, 0);
        for b in (1..BINS).rev() {
            (bounds, count) = (bounds.union(bins[b].0), count + bins[b].1);
            right[b] = area(bounds) * count as f64;
        }
        (bounds, count) = (Bounds::EMPTY, 0);
        for b in 1..BINS {
            (bounds, count) = (bounds.union(bins[b - 1].0), count + bins[b - 1].1);
            let cost = area(bounds) * count as f64 + right[b];
            if best.is_none_or(|(least, ..)| cost < least) {
                best = Some((cost, axis, b));
            }
        }
    }
    best.map(|(_, axis, border)| (axis, border))
}

fn area(b: Bounds) -> f64 {
    if b.is_empty() {
        return 0.0;
    }
    let s = b.size();
    s.x * s.y + s.y * s.z + s.z * s.x
}
