//! The table, the bars and the plot.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use crate::plan::{PACED, PACED_BAR, ROUNDS};

/// The percentiles of latencies that are told.
pub(crate) const LIVE_RANKS: [f64; 3] = [50.0, 99.0, 100.0];

/// What is said of a run without work.
const IDLE: &str = "a run of nine rules that finds nothing due, ms of CPU";

/// CPU and wall seconds, by round, of one worker, of two for the same rows, and of two runs at once in databases of their own: what the
/// server allows, whose log all sessions write, and the machine.
#[derive(Default)]
pub(crate) struct Workers {
    pub(crate) one: Vec<(f64, f64)>,
    pub(crate) two: Vec<(f64, f64)>,
    pub(crate) apart: Vec<(f64, f64)>,
}

/// Rows per CPU second of two workers beside those of one, where two runs that share nothing take no more either: 15 % more CPU time.
const WORKERS_CPU_BAR: f64 = 0.87;

/// Rows per second of two workers beside those of two runs that share nothing: 1.6 times one where these are twice one.
const WORKERS_CLOCK_BAR: f64 = 0.8;

/// How many times the CPU time of partitions the same rows take at least if they are deleted one by one.
const PARTITIONS_BAR: f64 = 20.0;

/// Latencies by `LIVE_RANKS`, in milliseconds.
fn percentiles(ms: [f64; 3]) -> String {
    format!("{:.1} / {:.1} / {:.1}", ms[0], ms[1], ms[2])
}

/// Collects the figures.
pub(crate) struct Report {
    started: Instant,
    lines: Vec<String>,
    bars: Vec<(String, bool)>,
}

impl Report {
    pub(crate) fn new(server: &str, families: u32, rows: i64) -> Self {
        Self::titled(&format!(
            "{server}: history of {families} families, {rows} rows. Medians with the least and the most of the rounds."
        ))
    }

    /// A report without figures so far.
    pub(crate) fn titled(title: &str) -> Self {
        Self {
            started: Instant::now(),
            lines: vec![
                format!("{title}\n"),
                "| what | figure |".to_owned(),
                "|---|---|".to_owned(),
            ],
            bars: Vec::new(),
        }
    }

    /// Adds a line, and shows it at once, with the minutes since the beginning: the whole takes hours.
    fn line(&mut self, what: &str, figure: String) {
        let minutes = self.started.elapsed().as_secs_f64() / 60.0;
        println!("{minutes:6.1} min  {what}: {figure}");
        self.lines.push(format!("| {what} | {figure} |"));
    }

    fn bar(&mut self, what: String, reached: bool) {
        self.bars.push((what, reached));
    }

    /// A figure that was measured once.
    pub(crate) fn figure(&mut self, what: &str, value: f64, digits: usize) {
        self.line(what, format!("{value:.digits$}"));
    }

    /// `median (least–most)` of a figure.
    pub(crate) fn range(&mut self, what: &str, values: &[f64], digits: usize) {
        self.line(what, range(values, digits));
    }

    /// CPU and wall seconds of one way to delete these rows.
    pub(crate) fn variant(&mut self, name: &str, rows: i64, times: &[(f64, f64)]) {
        let per = |seconds: &dyn Fn(&(f64, f64)) -> f64| {
            times
                .iter()
                .map(|time| rows as f64 / seconds(time))
                .collect::<Vec<_>>()
        };
        self.range(
            &format!("{name}: rows per CPU second ({rows} rows)"),
            &per(&|time| time.0),
            0,
        );
        self.range(&format!("{name}: rows per second"), &per(&|time| time.1), 0);
    }

    /// The CPU of windrow and of another for the same rows; runs of one round have the same index.
    pub(crate) fn ratio(&mut self, other: &str, ours: &[f64], theirs: &[f64], bar: Option<f64>) {
        let ratios: Vec<f64> = ours
            .iter()
            .zip(theirs)
            .map(|(our, their)| their / our)
            .collect();
        self.range(&format!("windrow / {other}, by CPU"), &ratios, 2);
        if let Some(bar) = bar {
            let ratio = median(&ratios);
            self.bar(
                format!("rows per CPU second, at least {bar} times those of {other}: {ratio:.2}"),
                ratio >= bar,
            );
        }
    }

    /// What a part of each batch takes of its CPU, and how much that may be.
    pub(crate) fn share(&mut self, what: &str, shares: &[f64], most: f64) {
        let percent: Vec<f64> = shares.iter().map(|share| share * 100.0).collect();
        self.range(&format!("{what}, % of a batch's CPU"), &percent, 1);
        let share = median(&percent);
        self.bar(
            format!(
                "{what} at most {:.0} % of a batch: {share:.1} %",
                most * 100.0
            ),
            share <= most * 100.0,
        );
    }

    /// What one worker and two take for the same rows, beside what the machine allows: two runs in databases of their own at once.
    pub(crate) fn workers(&mut self, what: &str, rows: i64, times: &Workers) {
        let [one, two, apart] = [
            "one worker",
            "two workers",
            "two runs in databases of their own",
        ]
        .map(|name| format!("{what}{name}"));
        self.variant(&one, rows, &times.one);
        self.variant(&two, rows, &times.two);
        self.variant(&apart, 2 * rows, &times.apart);
        let ratios = |other: &[(f64, f64)], of: fn(&(f64, f64)) -> f64, runs: f64| -> Vec<f64> {
            let rounds = times.one.iter().zip(other);
            rounds
                .map(|(one, other)| runs * of(one) / of(other))
                .collect()
        };
        for (name, of, most, bar) in [
            (
                "by CPU",
                (|time| time.0) as fn(&(f64, f64)) -> f64,
                1.0,
                WORKERS_CPU_BAR,
            ),
            ("by the clock", |time| time.1, 2.0, WORKERS_CLOCK_BAR),
        ] {
            let (workers, machine) = (ratios(&times.two, of, 1.0), ratios(&times.apart, of, 2.0));
            self.range(&format!("{two} / one, {name}"), &workers, 2);
            self.range(&format!("{apart} / one alone, {name}"), &machine, 2);
            let (ratio, bar) = (median(&workers), bar * median(&machine).min(most));
            self.bar(
                format!("{two} at least {bar:.2} times one, {name}: {ratio:.2}"),
                ratio >= bar,
            );
        }
    }

    /// The longest transactions of windrow and of another, in milliseconds; runs of one round have the same index.
    pub(crate) fn longest(&mut self, other: &str, ours: &[f64], theirs: &[f64], bar: Option<f64>) {
        self.range(&format!("{other}: longest transaction, ms"), theirs, 0);
        let ratios: Vec<f64> = ours
            .iter()
            .zip(theirs)
            .map(|(our, their)| their / our)
            .collect();
        self.range(
            &format!("{other} / windrow, longest transaction"),
            &ratios,
            1,
        );
        if let Some(bar) = bar {
            let ratio = median(&ratios);
            self.bar(
                format!("longest transaction at most 1/{bar} of that of {other}: 1/{ratio:.1}"),
                ratio >= bar,
            );
        }
    }

    pub(crate) fn batches(&mut self, batches: i64, longest: &[f64]) {
        self.line("batches", batches.to_string());
        self.line("longest batch transaction, ms", range(longest, 0));
    }

    pub(crate) fn flat(&mut self, when: &str, steepness: &[f64], bar: f64) {
        self.line(
            &format!("CPU per row, last tenth of the run / first, {when}"),
            range(steepness, 2),
        );
        let ratio = median(steepness);
        self.bar(
            format!("cost per row at most {bar} times that at the start, {when}: {ratio:.2}"),
            ratio <= bar,
        );
    }

    pub(crate) fn naive(&mut self, deciles: &[f64; 10], rows: i64, wall: f64) {
        self.line(
            "the same for a loop without a cursor, old snapshot open",
            format!(
                "{:.1} ({rows} rows in {wall:.0} s)",
                deciles[9] / deciles[0]
            ),
        );
    }

    /// Latencies at the 50th, 99th and 100th percentile.
    pub(crate) fn live(
        &mut self,
        quiet: [f64; 3],
        busy: [f64; 3],
        longest: &[f64],
        number: usize,
        bar: f64,
    ) {
        self.line(
            "100 small transactions a second, no purge: p50 / p99 / longest, ms",
            percentiles(quiet),
        );
        self.line(
            &format!("the same during a purge at full speed ({number} transactions)"),
            percentiles(busy),
        );
        self.line(
            "longest batch transaction beside this load, ms",
            range(longest, 0),
        );
        let ratio = busy[1] / quiet[1];
        self.line("p99 with / without a purge", format!("{ratio:.1}"));
        self.bar(
            format!("p99 at most {bar} times that without a purge: {ratio:.1}"),
            ratio <= bar,
        );
    }

    /// Latencies of the live load, without a purge and during scheduled runs with their default pace, and the rows that
    /// these deleted.
    pub(crate) fn paced(&mut self, quiet: &mut [f64], paced: &mut [f64], rows: i64) {
        let [quiet, told] = [quiet, paced].map(|all| LIVE_RANKS.map(|rank| percentile(all, rank)));
        self.line(
            "100 small transactions a second, no purge: p50 / p99 / longest, ms",
            percentiles(quiet),
        );
        self.line(
            "the same during scheduled runs, default pace",
            percentiles(told),
        );
        let seconds = PACED.as_secs_f64() * ROUNDS as f64;
        self.line(
            "rows an hour that these delete",
            format!("{:.0}", rows as f64 / seconds * 3_600.0),
        );
        let ratio = told[1] / quiet[1];
        self.bar(
            format!(
                "p99 during a scheduled run at most {PACED_BAR} times that without: {ratio:.2}"
            ),
            ratio <= PACED_BAR,
        );
    }

    /// Latencies of the live load beside something else.
    pub(crate) fn beside(&mut self, what: &str, ms: [f64; 3], number: usize) {
        self.line(
            &format!("the same {what} ({number} transactions)"),
            percentiles(ms),
        );
    }

    /// CPU milliseconds of a run that finds nothing due.
    pub(crate) fn idle(&mut self, ms: &[f64], most: f64) {
        self.range(IDLE, ms, 1);
        let ms = median(ms);
        self.bar(format!("{IDLE} at most {most:.0}: {ms:.1}"), ms <= most);
    }

    /// What a row costs with many of something, times what it costs without.
    pub(crate) fn crowd(&mut self, what: &str, ratios: &[f64], most: f64) {
        let what = format!("CPU per row with {what}, times that without");
        self.range(&what, ratios, 2);
        let ratio = median(ratios);
        self.bar(format!("{what}, at most {most}: {ratio:.2}"), ratio <= most);
    }

    /// CPU seconds of the first run of a session, over one family.
    pub(crate) fn first_run(&mut self, seconds: &[f64]) {
        let ms: Vec<f64> = seconds.iter().map(|seconds| seconds * 1e3).collect();
        self.range("the first run of a session, one family, CPU ms", &ms, 0);
    }

    /// CPU seconds of the ways to delete the same rows: one by one, and with their partitions. `barred`: whether a way of the
    /// latter has a bar.
    pub(crate) fn partitions(
        &mut self,
        rows: u32,
        number: i64,
        others: &[(&str, Vec<f64>)],
        barred: impl Fn(&str) -> bool,
        partitions: &[(&str, Vec<f64>)],
    ) {
        let gone = format!("{rows} rows, {number} partitions");
        for (way, seconds) in others.iter().chain(partitions) {
            let ms: Vec<f64> = seconds.iter().map(|seconds| seconds * 1e3).collect();
            self.range(&format!("{gone}: {way}, CPU ms"), &ms, 0);
        }
        for (way, ours) in partitions {
            for (other, theirs) in others {
                let rounds = theirs.iter().zip(ours);
                let ratios: Vec<f64> = rounds.map(|(their, our)| their / our).collect();
                self.range(&format!("{other} / partitions, {way}, by CPU"), &ratios, 1);
                let ratio = median(&ratios);
                if barred(way) {
                    self.bar(
                        format!("{other} take at least {PARTITIONS_BAR} times the CPU of partitions, {way}: {ratio:.1}"),
                        ratio >= PARTITIONS_BAR,
                    );
                }
            }
        }
    }

    /// Latencies of the live load, without a run and during scheduled ones that drop partitions.
    pub(crate) fn beside_partitions(&mut self, quiet: &mut [f64], busy: &mut [f64]) {
        let [before, during] =
            [&mut *quiet, &mut *busy].map(|all| LIVE_RANKS.map(|rank| percentile(all, rank)));
        self.line(
            "100 small transactions a second, no run: p50 / p99 / longest, ms",
            percentiles(before),
        );
        self.beside(
            "during scheduled runs that drop partitions, default pace",
            during,
            busy.len(),
        );
        let ratio = during[1] / before[1];
        self.bar(
            format!("p99 while partitions are dropped at most {PACED_BAR} times that without: {ratio:.2}"),
            ratio <= PACED_BAR,
        );
    }

    pub(crate) fn generate(&mut self, times: &[f64], peak: Option<f64>) {
        self.line("making the SQL of a spec, ms", range(times, 1));
        self.line(
            "memory of `windrow generate` at its peak, MB",
            peak.map_or("not measured".to_owned(), |kilobytes| {
                format!("{:.0}", kilobytes / 1024.0)
            }),
        );
    }

    pub(crate) fn missed(&self) -> bool {
        self.bars.iter().any(|(_, reached)| !reached)
    }

    pub(crate) fn markdown(&self, took: Duration) -> String {
        let mut text = self.lines.join("\n");
        text.push_str("\n\n");
        for (what, reached) in &self.bars {
            let verdict = if *reached { "pass" } else { "FAIL" };
            let _ = writeln!(text, "- {verdict}: {what}");
        }
        let _ = write!(text, "\nTook {:.0} s.", took.as_secs_f64());
        text
    }
}

pub(crate) fn median(values: &[f64]) -> f64 {
    percentile(&mut values.to_vec(), 50.0)
}

/// The value at a rank from 0 to 100; NaN of nothing.
pub(crate) fn percentile(values: &mut [f64], rank: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let index = (rank / 100.0 * values.len() as f64).ceil() as usize;
    values
        .get(index.clamp(1, values.len().max(1)) - 1)
        .copied()
        .unwrap_or(f64::NAN)
}

/// `median (least–most)`.
fn range(values: &[f64], digits: usize) -> String {
    let mut sorted = values.to_vec();
    let [low, middle, high] = [0.0, 50.0, 100.0].map(|rank| percentile(&mut sorted, rank));
    format!("{middle:.digits$} ({low:.digits$}–{high:.digits$})")
}

/// Milliseconds of CPU per 1,000 rows over the tenths of a run, one line per series, on a logarithmic scale.
pub(crate) fn plot(series: &[(&str, [f64; 10])]) -> String {
    const COLOURS: [&str; 3] = ["#0072b2", "#009e73", "#d55e00"];
    const TICKS: [f64; 10] = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0];
    let all = || series.iter().flat_map(|(_, values)| values);
    let low = all().copied().fold(f64::INFINITY, f64::min) / 1.5;
    let high = all().copied().fold(0.0, f64::max) * 1.5;
    let x = |decile: usize| 60 + decile * 60;
    let y = |value: f64| 290.0 - 250.0 * (value / low).ln() / (high / low).ln();
    let mut svg = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 640 340\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"640\" height=\"340\" fill=\"white\"/>\n\
         <text x=\"20\" y=\"20\">CPU milliseconds per 1,000 deleted rows, by tenth of the run</text>\n",
    );
    for tick in TICKS.into_iter().filter(|tick| (low..high).contains(tick)) {
        let at = y(tick);
        let _ = writeln!(
            svg,
            "<line x1=\"50\" x2=\"620\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#ddd\"/><text x=\"44\" y=\"{:.1}\" text-anchor=\"end\">{tick}</text>",
            at + 4.0
        );
    }
    for decile in 0..10 {
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"310\" text-anchor=\"middle\">{}</text>",
            x(decile),
            decile + 1
        );
    }
    for (index, ((name, values), colour)) in series.iter().zip(COLOURS).enumerate() {
        let points: Vec<String> = values
            .iter()
            .enumerate()
            .map(|(decile, value)| format!("{},{:.1}", x(decile), y(*value)))
            .collect();
        let (left, top) = (40 + index * 190, 330);
        let _ = writeln!(
            svg,
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" points=\"{}\"/>\n\
             <rect x=\"{left}\" y=\"{}\" width=\"10\" height=\"10\" fill=\"{colour}\"/><text x=\"{}\" y=\"{top}\">{name}</text>",
            points.join(" "),
            top - 9,
            left + 14
        );
    }
    svg.push_str("</svg>\n");
    svg
}

/// What a history of one size took.
pub(crate) struct Point {
    /// Rows that went.
    pub(crate) rows: f64,
    /// CPU time of the server per row, in microseconds.
    pub(crate) cpu: f64,
    /// The longest time between two commits, in milliseconds: as long as a lock is held at most.
    pub(crate) longest: f64,
    /// The preview, in milliseconds.
    pub(crate) preview: f64,
}

/// Three figures over the number of rows, both on logarithmic scales, a line for each server.
pub(crate) fn scale_plot(servers: &[(&str, Vec<Point>)]) -> String {
    const COLOURS: [&str; 3] = ["#0072b2", "#d55e00", "#009e73"];
    type Figure = fn(&Point) -> f64;
    const PANELS: [(&str, Figure); 3] = [
        ("CPU of the server per row, µs", |point| point.cpu),
        ("longest batch, ms", |point| point.longest),
        ("preview, ms", |point| point.preview),
    ];
    let mut svg = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 900 300\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"900\" height=\"300\" fill=\"white\"/>\n",
    );
    for (panel, (title, figure)) in PANELS.into_iter().enumerate() {
        let left = 55.0 + 300.0 * panel as f64;
        let all = || servers.iter().flat_map(|(_, points)| points);
        // Whole decades.
        let edge = |value: f64, round: fn(f64) -> f64| round(value.log10());
        let low = edge(all().map(figure).fold(f64::INFINITY, f64::min), f64::floor);
        let high = edge(all().map(figure).fold(0.0, f64::max), f64::ceil).max(low + 1.0);
        let first = edge(
            all().map(|point| point.rows).fold(f64::INFINITY, f64::min),
            f64::floor,
        );
        let last = edge(all().map(|point| point.rows).fold(0.0, f64::max), f64::ceil);
        let x = |rows: f64| left + 220.0 * (rows.log10() - first) / (last - first);
        let y = |value: f64| 240.0 - 190.0 * (value.log10() - low) / (high - low);
        let _ = writeln!(
            svg,
            "<text x=\"{left}\" y=\"30\" font-weight=\"bold\">{title}</text>"
        );
        for decade in low as i32..=high as i32 {
            let value = 10_f64.powi(decade);
            let at = y(value);
            let _ = writeln!(
                svg,
                "<line x1=\"{left}\" x2=\"{}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#ddd\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{value}</text>",
                left + 220.0,
                left - 5.0,
                at + 4.0
            );
        }
        for decade in first as i32..=last as i32 {
            let at = x(10_f64.powi(decade));
            let _ = writeln!(
                svg,
                "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"50\" y2=\"240\" stroke=\"#eee\"/><text x=\"{at:.1}\" y=\"257\" text-anchor=\"middle\">10<tspan dy=\"-4\" font-size=\"9\">{decade}</tspan></text>"
            );
        }
        for ((_, points), colour) in servers.iter().zip(COLOURS) {
            let line: Vec<String> = points
                .iter()
                .map(|point| format!("{:.1},{:.1}", x(point.rows), y(figure(point))))
                .collect();
            let _ = writeln!(
                svg,
                "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" points=\"{}\"/>",
                line.join(" ")
            );
            for point in points {
                let _ = writeln!(
                    svg,
                    "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"{colour}\"/>",
                    x(point.rows),
                    y(figure(point))
                );
            }
        }
    }
    for (index, ((name, _), colour)) in servers.iter().zip(COLOURS).enumerate() {
        let at = 55 + index * 120;
        let _ = writeln!(
            svg,
            "<rect x=\"{at}\" y=\"275\" width=\"10\" height=\"10\" fill=\"{colour}\"/><text x=\"{}\" y=\"284\">{name}</text>",
            at + 15
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"875\" y=\"284\" text-anchor=\"end\">deleted rows, in whole families, one run</text>\n</svg>"
    );
    svg
}
