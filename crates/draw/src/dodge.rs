//! Words that make way for each other.

use crate::canvas::Area;

/// Places for labels that would like to stand at `wanted`: in the same order, `gap` apart, between `low` and `high`.
/// Where there is no room for that, as far apart as there is.
pub(crate) fn spread(wanted: &[f64], gap: f64, low: f64, high: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|one, other| wanted[*one].total_cmp(&wanted[*other]));
    let room = (high - low) / wanted.len().saturating_sub(1).max(1) as f64;
    let gap = gap.min(room);
    let mut places: Vec<f64> =
        order.iter().map(|index| wanted[*index].max(low).min(high)).collect();
    for index in 1..places.len() {
        places[index] = places[index].max(places[index - 1] + gap);
    }
    // What was pushed over the end pushes back.
    let mut limit = high;
    for place in places.iter_mut().rev() {
        *place = place.min(limit);
        limit = *place - gap;
    }
    let mut found = vec![0.0; wanted.len()];
    for (place, index) in places.into_iter().zip(order) {
        found[index] = place;
    }
    found
}

/// What is taken on the paper.
#[derive(Debug, Default)]
pub(crate) struct Taken(Vec<Area>);

impl Taken {
    /// Marks an area as taken.
    pub(crate) fn take(&mut self, area: Area) {
        self.0.push(area);
    }

    /// Takes what others have taken.
    pub(crate) fn append(&mut self, other: Taken) {
        self.0.extend(other.0);
    }

    /// Whether nothing there is taken.
    pub(crate) fn is_free(&self, area: &Area) -> bool {
        let apart = |other: &Area| {
            area.right() <= other.x
                || other.right() <= area.x
                || area.bottom() <= other.y
                || other.bottom() <= area.y
        };
        self.0.iter().all(apart)
    }

    /// A free place for something of this size, as near to the point as there is one inside of the limits; takes it.
    /// Where all is taken, the first place that was tried.
    pub(crate) fn place(&mut self, point: (f64, f64), size: (f64, f64), within: Area) -> Area {
        let (width, height) = size;
        let around = |far: f64| {
            let directions = [
                (1.0, 0.0),
                (0.0, -1.0),
                (-1.0, 0.0),
                (0.0, 1.0),
                (0.7, -0.7),
                (-0.7, -0.7),
                (0.7, 0.7),
                (-0.7, 0.7),
            ];
            directions.map(move |(dx, dy)| Area {
                x: point.0 + dx * (far + width / 2.0) - width / 2.0,
                y: point.1 + dy * (far + height / 2.0) - height / 2.0,
                width,
                height,
            })
        };
        let inside = |area: &Area| {
            area.x >= within.x
                && area.right() <= within.right()
                && area.y >= within.y
                && area.bottom() <= within.bottom()
        };
        let tries = (0..12).flat_map(|step| around(7.0 + 7.0 * f64::from(step)));
        let mut tries = tries.filter(inside).peekable();
        let first = tries.peek().copied();
        let found = tries.find(|area| self.is_free(area)).or(first);
        let found = found.unwrap_or_else(|| around(7.0)[0]);
        self.take(found);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn labels_with_room_stay_where_they_are() {
        assert_eq!(spread(&[10.0, 50.0, 30.0], 12.0, 0.0, 100.0), [10.0, 50.0, 30.0]);
        assert_eq!(spread(&[], 12.0, 0.0, 100.0), Vec::<f64>::new());
    }

    #[test]
    fn labels_on_one_point_move_apart() {
        let places = spread(&[95.0, 95.0, 95.0], 12.0, 0.0, 100.0);
        assert_eq!(places, [76.0, 88.0, 100.0]);
    }

    #[test]
    fn a_place_that_is_taken_is_not_given_again() {
        let within = Area { x: 0.0, y: 0.0, width: 400.0, height: 400.0 };
        let mut taken = Taken::default();
        let places: Vec<Area> =
            (0..20).map(|_| taken.place((200.0, 200.0), (20.0, 12.0), within)).collect();
        for (index, one) in places.iter().enumerate() {
            let mut others = Taken::default();
            places.iter().skip(index + 1).for_each(|other| others.take(*other));
            assert!(others.is_free(one), "{one:?}");
        }
    }

    proptest! {
        #[test]
        fn labels_never_touch_while_there_is_room(
            wanted in prop::collection::vec(-50.0..150.0_f64, 0..9),
        ) {
            let places = spread(&wanted, 12.0, 0.0, 100.0);
            let mut sorted = places.clone();
            sorted.sort_by(f64::total_cmp);
            prop_assert!(sorted.windows(2).all(|pair| pair[1] - pair[0] >= 12.0 - 1e-9));
            prop_assert!(places.iter().all(|place| (-1e-9..=100.0 + 1e-9).contains(place)));
        }
    }
}
