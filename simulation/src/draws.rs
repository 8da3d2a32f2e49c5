//! Draws the decisions of a schedule from its seed; any of them can be made calm, which is how a failing schedule is shrunk.

use std::collections::BTreeSet;

/// A source of decisions. The first alternative of each is the calm one, in which nothing unusual happens.
#[derive(Clone, Debug)]
pub(crate) struct Draws {
    state: u64,
    taken: usize,
    calm: BTreeSet<usize>,
    calm_from: usize,
}

impl Draws {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d,
            taken: 0,
            calm: BTreeSet::new(),
            calm_from: usize::MAX,
        }
    }

    /// The same, calm at these decisions and from that one on.
    pub(crate) fn calmed(mut self, calm: BTreeSet<usize>, calm_from: usize) -> Self {
        self.calm = calm;
        self.calm_from = calm_from;
        self
    }

    /// True when no decision of its own is left.
    pub(crate) fn is_calm(&self) -> bool {
        self.taken >= self.calm_from
    }

    /// How many decisions were made.
    pub(crate) fn taken(&self) -> usize {
        self.taken
    }

    /// A number below `count`.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        let drawn = self.draw();
        let at = self.taken;
        self.taken += 1;
        if at >= self.calm_from || self.calm.contains(&at) {
            return 0;
        }
        usize::try_from(drawn % (count.max(1) as u64)).unwrap_or(0)
    }

    /// The place of one of the weights, each as probable as it is heavy.
    pub(crate) fn weighted(&mut self, weights: &[u32]) -> usize {
        let sum: u32 = weights.iter().sum();
        let mut left = self.below(sum as usize);
        for (at, weight) in weights.iter().enumerate() {
            if left < *weight as usize {
                return at;
            }
            left -= *weight as usize;
        }
        0
    }

    /// True once in `times`.
    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) + 1 == times
    }

    fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
