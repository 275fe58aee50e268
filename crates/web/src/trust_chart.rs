//! The history of a trust score as a line chart. It is drawn twice, for wide and for narrow screens, because text in a picture
//! shrinks with it.

use merchants::{AGENT_THRESHOLD, SUSPENSION_THRESHOLD};
use primitives::Timestamp;

use crate::public_page::format_score;
use crate::terms_view::format_date;

/// A score at one time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Point {
    pub(crate) at: Timestamp,
    /// `None` while the store was unscored.
    pub(crate) score: Option<f64>,
}

/// A chart, with all coordinates formatted.
pub(crate) struct Chart {
    pub(crate) class: &'static str,
    pub(crate) width: u16,
    pub(crate) height: u16,
    /// Ends of the axes.
    pub(crate) left: u16,
    pub(crate) right: u16,
    pub(crate) top: u16,
    pub(crate) bottom: u16,
    pub(crate) thresholds: Vec<Threshold>,
    pub(crate) zones: Vec<Label>,
    /// Coordinates of lines: one for each run of scores without a gap.
    pub(crate) lines: Vec<String>,
    /// Scores without neighbours.
    pub(crate) dots: Vec<(String, String)>,
    pub(crate) dates: Vec<Label>,
    /// The newest score.
    pub(crate) newest: Option<Newest>,
}

/// A line at the lower end of a band.
pub(crate) struct Threshold {
    pub(crate) y: String,
    /// Baseline of its number.
    pub(crate) text_y: String,
    pub(crate) score: String,
    /// Whether something happens to a store below it.
    pub(crate) has_effect: bool,
}

/// A text in the chart.
pub(crate) struct Label {
    pub(crate) x: String,
    pub(crate) y: String,
    /// `start`, `middle` or `end`.
    pub(crate) anchor: &'static str,
    pub(crate) text: String,
}

/// The newest score, marked in the chart.
pub(crate) struct Newest {
    pub(crate) x: String,
    pub(crate) y: String,
    pub(crate) text_y: String,
    pub(crate) score: String,
}

/// The measures of a chart, in units of its picture.
struct Measures {
    class: &'static str,
    width: u16,
    height: u16,
    left: u16,
    right: u16,
    top: u16,
    bottom: u16,
    /// Dates below the chart, first and last included.
    dates: u16,
}

const WIDE: Measures = Measures {
    class: "wide",
    width: 720,
    height: 320,
    left: 44,
    right: 616,
    top: 16,
    bottom: 284,
    dates: 4,
};

const NARROW: Measures = Measures {
    class: "narrow",
    width: 360,
    height: 300,
    left: 36,
    right: 270,
    top: 16,
    bottom: 264,
    dates: 2,
};

/// Half of the height of digits.
const HALF_TEXT: f64 = 4.0;
/// Distances of the number of the newest score from its dot.
const TEXT_ABOVE: f64 = 10.0;
const TEXT_BELOW: f64 = 22.0;

/// Returns the charts of scores, oldest first; none without a score.
pub(crate) fn charts(points: &[Point]) -> Vec<Chart> {
    if points.iter().all(|point| point.score.is_none()) {
        return Vec::new();
    }
    [WIDE, NARROW].iter().map(|measures| measures.chart(points)).collect()
}

impl Measures {
    fn chart(&self, points: &[Point]) -> Chart {
        let runs: Vec<&[Point]> =
            points.split(|point| point.score.is_none()).filter(|run| !run.is_empty()).collect();
        let x = |point: &Point| decimal(self.x(point.at, points));
        let y = |point: &Point| decimal(self.y(point.score.unwrap_or_default()));
        let line = |run: &&[Point]| {
            let places: Vec<String> =
                run.iter().map(|point| format!("{},{}", x(point), y(point))).collect();
            places.join(" ")
        };
        let (alone, longer): (Vec<&[Point]>, Vec<&[Point]>) =
            runs.into_iter().partition(|run| run.len() == 1);
        let thresholds = trust::thresholds().into_iter();
        Chart {
            class: self.class,
            width: self.width,
            height: self.height,
            left: self.left,
            right: self.right,
            top: self.top,
            bottom: self.bottom,
            thresholds: thresholds.map(|threshold| self.threshold(threshold.min_score)).collect(),
            zones: self.zones(),
            lines: longer.iter().map(line).collect(),
            dots: alone.concat().iter().map(|point| (x(point), y(point))).collect(),
            dates: self.dates(points),
            newest: points.last().and_then(|newest| self.newest(newest, points)),
        }
    }

    fn x(&self, at: Timestamp, points: &[Point]) -> f64 {
        let (first, last) = (points.first().map(|it| it.at), points.last().map(|it| it.at));
        let (first, last) = (first.unwrap_or(at), last.unwrap_or(at));
        let period = last.since(first).as_secs_f64();
        // A single time is that of the newest score.
        let part = if period > 0.0 { at.since(first).as_secs_f64() / period } else { 1.0 };
        f64::from(self.left) + part * f64::from(self.right - self.left)
    }

    fn y(&self, score: f64) -> f64 {
        f64::from(self.bottom) - score * f64::from(self.bottom - self.top)
    }

    fn threshold(&self, score: f64) -> Threshold {
        let y = self.y(score);
        Threshold {
            y: decimal(y),
            text_y: decimal(y + HALF_TEXT),
            score: format!("{score:.2}"),
            has_effect: [AGENT_THRESHOLD, SUSPENSION_THRESHOLD].contains(&score),
        }
    }

    /// Names the zones between the thresholds, each in its middle.
    fn zones(&self) -> Vec<Label> {
        let label = |text: String, lower: f64, upper: f64| Label {
            x: (self.right + 8).to_string(),
            y: decimal(self.y(f64::midpoint(lower, upper)) + HALF_TEXT),
            anchor: "start",
            text,
        };
        let (mut zones, mut upper) = (Vec::new(), 1.0);
        for trust::Threshold { label: band, min_score, .. } in trust::thresholds() {
            zones.push(label(band.to_string(), min_score, upper));
            upper = min_score;
        }
        zones.push(label(String::from("suspended"), 0.0, upper));
        zones
    }

    fn dates(&self, points: &[Point]) -> Vec<Label> {
        let (Some(first), Some(last)) = (points.first(), points.last()) else { return Vec::new() };
        let steps = u32::from(self.dates - 1);
        let step = last.at.since(first.at) / steps;
        let label = |number: u32| {
            let at = first.at.plus(step * number);
            let anchor = match number {
                0 => "start",
                number if number == steps => "end",
                _ => "middle",
            };
            let y = (self.bottom + 22).to_string();
            Label { x: decimal(self.x(at, points)), y, anchor, text: format_date(at) }
        };
        if format_date(first.at) == format_date(last.at) {
            return vec![label(steps)];
        }
        (0..=steps).map(label).collect()
    }

    fn newest(&self, newest: &Point, points: &[Point]) -> Option<Newest> {
        let score = newest.score?;
        let y = self.y(score);
        // Where the line does not come from, if there is room.
        let earlier = points.iter().rev().nth((points.len() / 10).max(1));
        let earlier = earlier.and_then(|point| point.score);
        let is_falling = earlier.is_some_and(|earlier| earlier > score);
        let has_room_above = y - TEXT_BELOW >= f64::from(self.top);
        let has_room_below = y + TEXT_BELOW <= f64::from(self.bottom);
        let is_below = if is_falling { has_room_below } else { !has_room_above };
        Some(Newest {
            x: decimal(self.x(newest.at, points)),
            y: decimal(y),
            text_y: decimal(if is_below { y + TEXT_BELOW } else { y - TEXT_ABOVE }),
            score: format_score(score),
        })
    }
}

fn decimal(number: f64) -> String {
    format!("{number:.1}")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn points(scores: &[Option<f64>]) -> Vec<Point> {
        let start = Timestamp::from_unix_micros(1_794_729_600_000_000);
        let day = |number: u32| start.plus(Duration::from_hours(24) * number);
        (0..).zip(scores).map(|(number, score)| Point { at: day(number), score: *score }).collect()
    }

    #[test]
    fn a_line_runs_from_the_left_end_to_the_right_one_and_a_higher_score_is_higher() {
        let charts = charts(&points(&[Some(0.0), Some(0.5), Some(1.0)]));
        let [wide, narrow] = charts.as_slice() else { panic!("{}", charts.len()) };
        assert_eq!(wide.lines, ["44.0,284.0 330.0,150.0 616.0,16.0"]);
        assert_eq!(narrow.lines, ["36.0,264.0 153.0,140.0 270.0,16.0"]);
        let dates: Vec<&str> = narrow.dates.iter().map(|date| date.text.as_str()).collect();
        assert_eq!(dates, ["2026-11-15", "2026-11-17"]);
        assert_eq!(wide.dates.len(), 4);
        let newest = wide.newest.as_ref().unwrap();
        assert_eq!((newest.score.as_str(), newest.text_y.as_str()), ("1.00", "38.0"));
    }

    #[test]
    fn a_time_without_score_is_a_gap() {
        let scores = [Some(0.5), None, Some(0.5), Some(0.6), None];
        let chart = charts(&points(&scores)).remove(0);
        assert_eq!((chart.lines.len(), chart.dots.len()), (1, 1));
        assert!(chart.newest.is_none(), "the newest score is none");
        assert_eq!(chart.lines[0].split(' ').count(), 2);
    }

    #[test]
    fn the_newest_number_is_where_the_line_does_not_come_from() {
        let text_y = |scores: &[Option<f64>]| {
            let newest = charts(&points(scores)).remove(0).newest.unwrap();
            (newest.y, newest.text_y)
        };
        let pair = |y: &str, text_y: &str| (y.to_owned(), text_y.to_owned());
        assert_eq!(text_y(&[Some(0.4), Some(0.5)]), pair("150.0", "140.0"));
        assert_eq!(text_y(&[Some(0.6), Some(0.5)]), pair("150.0", "172.0"));
        assert_eq!(text_y(&[Some(0.6), Some(0.0)]), pair("284.0", "274.0"));
        assert_eq!(text_y(&[Some(0.0)]), pair("284.0", "274.0"));
    }

    #[test]
    fn one_score_is_a_dot_and_none_is_no_chart() {
        let chart = charts(&points(&[Some(0.9)])).remove(0);
        assert!(chart.lines.is_empty());
        assert_eq!(chart.dots, [(String::from("616.0"), String::from("42.8"))]);
        assert_eq!(chart.dates.len(), 1);
        assert!(charts(&[]).is_empty() && charts(&points(&[None, None])).is_empty());
    }

    #[test]
    fn every_zone_is_named_in_its_middle_and_every_threshold_has_its_number() {
        let chart = charts(&points(&[Some(0.9)])).remove(0);
        let zones: Vec<&str> = chart.zones.iter().map(|zone| zone.text.as_str()).collect();
        let bands = ["ELITE", "VERIFIED", "STANDARD", "CAUTION", "RESTRICTED", "suspended"];
        assert_eq!(zones, bands);
        for (zone, score) in chart.zones.iter().zip([0.975, 0.9, 0.775, 0.6, 0.35, 0.1]) {
            assert_eq!(zone.y, decimal(WIDE.y(score) + HALF_TEXT), "{}", zone.text);
        }
        let numbers: Vec<(&str, bool)> =
            chart.thresholds.iter().map(|it| (it.score.as_str(), it.has_effect)).collect();
        let expected =
            [("0.95", false), ("0.85", false), ("0.70", true), ("0.50", false), ("0.20", true)];
        assert_eq!(numbers, expected);
    }
}
