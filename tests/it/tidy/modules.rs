//! Which module of the product names which: every path of every source, in `use`, in code and in macros.
//!
//! Sources are read as tokens, so that comments and texts do not count. A path is followed as the compiler would: `crate`,
//! `self`, `super`, child modules, what a `use` brought into the module, and names that a module passes on by `pub use`,
//! which count as the module in which they are defined. What stands under `#[cfg(test)]` is not part of the product.

use std::collections::{BTreeMap, BTreeSet};

/// Every module with those that it names, and the first path by which it does.
pub(super) type Graph = BTreeMap<String, BTreeMap<String, String>>;

/// Reads the modules of a crate from its sources: paths below `src/` and their texts.
pub(super) fn read(sources: &[(String, String)]) -> Graph {
    let mut modules: BTreeMap<String, Module> = BTreeMap::new();
    for (path, text) in sources {
        let name = path.trim_end_matches(".rs").replace('/', "::");
        let name = if name == "lib" { String::new() } else { name };
        scan(&name, &tokens(text), &mut modules);
    }
    let tests: Vec<String> = modules
        .values()
        .flat_map(|module| module.tests.iter().cloned())
        .collect();
    modules.retain(|name, _| !tests.iter().any(|test| within(name, test)));
    let mut graph = Graph::new();
    for (name, module) in &modules {
        let known = graph.entry(name.clone()).or_default();
        for path in &module.paths {
            let found = resolve(name, path, &modules, &mut BTreeSet::new());
            if let Some(Place::Item(target)) = found.filter(|it| *it != Place::Item(name.clone())) {
                known.entry(target).or_insert_with(|| path.join("::"));
            }
        }
    }
    graph
}

/// Whether a module is another one or stands below it.
pub(super) fn within(name: &str, other: &str) -> bool {
    name == other || name.starts_with(&format!("{other}::"))
}

/// The circles of a graph, each as the modules that reach each other.
pub(super) fn circles(graph: &Graph) -> Vec<BTreeSet<String>> {
    let reached = |from: &str| {
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let mut open = vec![from];
        while let Some(next) = open.pop() {
            for target in graph.get(next).into_iter().flat_map(BTreeMap::keys) {
                if seen.insert(target) {
                    open.push(target);
                }
            }
        }
        seen
    };
    let all: BTreeMap<&str, BTreeSet<&str>> = graph
        .keys()
        .map(|name| (name.as_str(), reached(name)))
        .collect();
    let mut found: Vec<BTreeSet<String>> = Vec::new();
    for (name, reach) in &all {
        if !reach.contains(name) || found.iter().any(|circle| circle.contains(*name)) {
            continue;
        }
        let back = |other: &&&str| all.get(**other).is_some_and(|reach| reach.contains(name));
        found.push(
            reach
                .iter()
                .filter(back)
                .map(|it| (*it).to_owned())
                .collect(),
        );
    }
    found
}

/// What a module declares and names.
#[derive(Default)]
struct Module {
    children: BTreeSet<String>,
    /// Modules below it that stand under `#[cfg(test)]`, by their whole names.
    tests: Vec<String>,
    /// What `use` brings in, by the name that it has here.
    imports: BTreeMap<String, Vec<String>>,
    paths: Vec<Vec<String>>,
}

/// Where a path leads.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Module(String),
    /// Something that this module defines.
    Item(String),
}

/// Follows a path from a module; none where it leads out of the crate.
fn resolve(
    from: &str,
    path: &[String],
    modules: &BTreeMap<String, Module>,
    seen: &mut BTreeSet<(String, Vec<String>)>,
) -> Option<Place> {
    if !seen.insert((from.to_owned(), path.to_vec())) {
        return None;
    }
    let (first, rest) = path.split_first()?;
    let mut at = match first.as_str() {
        "crate" => String::new(),
        "self" => from.to_owned(),
        "super" => parent(from)?,
        _ => return step(from, path, modules, seen, false),
    };
    let mut rest = rest;
    while let Some((_, more)) = rest.split_first().filter(|(word, _)| *word == "super") {
        at = parent(&at)?;
        rest = more;
    }
    step(&at, rest, modules, seen, true)
}

/// Follows the rest of a path inside a module; `named` if the path has named the module itself.
fn step(
    at: &str,
    rest: &[String],
    modules: &BTreeMap<String, Module>,
    seen: &mut BTreeSet<(String, Vec<String>)>,
    named: bool,
) -> Option<Place> {
    let Some((word, more)) = rest.split_first() else {
        return Some(Place::Module(at.to_owned()));
    };
    let module = modules.get(at)?;
    if module.children.contains(word) {
        return step(&join(at, word), more, modules, seen, true);
    }
    if let Some(import) = module.imports.get(word) {
        // A crate with something of its own name, as in `use a::a`: no module of ours.
        if import.first() == Some(word) {
            return None;
        }
        let whole: Vec<String> = import.iter().chain(more).cloned().collect();
        let found = resolve(at, &whole, modules, seen);
        // A function may have the name of a module that is brought in beside it.
        let beside = named && more.is_empty() && matches!(found, Some(Place::Module(_)));
        return if beside {
            Some(Place::Item(at.to_owned()))
        } else {
            found
        };
    }
    named.then(|| Place::Item(at.to_owned()))
}

fn parent(name: &str) -> Option<String> {
    if name.is_empty() {
        return None;
    }
    Some(
        name.rsplit_once("::")
            .map_or("", |(above, _)| above)
            .to_owned(),
    )
}

fn join(module: &str, child: &str) -> String {
    match module {
        "" => child.to_owned(),
        module => format!("{module}::{child}"),
    }
}

/// Collects what a file, or an inline module of it, declares and names.
fn scan(name: &str, tokens: &[String], modules: &mut BTreeMap<String, Module>) {
    let word = |at: usize| tokens.get(at).map_or("", String::as_str);
    let mut module = Module::default();
    let mut test = false;
    let mut at = 0;
    while at < tokens.len() {
        match word(at) {
            "#" if (word(at + 1), word(at + 2), word(at + 4)) == ("[", "cfg", "test") => {
                test = true;
                at += 7;
                continue;
            }
            "mod" if is_name(word(at + 1)) => {
                let child = join(name, word(at + 1));
                module.children.insert(word(at + 1).to_owned());
                if test {
                    module.tests.push(child.clone());
                }
                at += 2;
                if word(at) == "{" {
                    let end = closing(tokens, at);
                    scan(&child, &tokens[at + 1..end], modules);
                    at = end;
                }
            }
            "use" => {
                let end = (at..tokens.len()).find(|it| word(*it) == ";");
                let end = end.unwrap_or(tokens.len());
                let mut tree = at + 1;
                imports(tokens, &mut tree, &[], &mut module);
                at = end;
            }
            start if is_name(start) && word(at + 1) == "::" && before(tokens, at) != "::" => {
                let mut path = vec![start.to_owned()];
                while word(at + 1) == "::" && is_name(word(at + 2)) {
                    path.push(word(at + 2).to_owned());
                    at += 2;
                }
                module.paths.push(path);
            }
            _ => {}
        }
        // An attribute counts for the next item alone.
        test &= ["#", "[", "]", "pub", "(", ")"].contains(&word(at));
        at += 1;
    }
    modules.insert(name.to_owned(), module);
}

fn before(tokens: &[String], at: usize) -> &str {
    at.checked_sub(1).map_or("", |at| tokens[at].as_str())
}

/// Reads one tree of a `use`; what it brings in is named, too.
fn imports(tokens: &[String], at: &mut usize, above: &[String], module: &mut Module) {
    let word = |at: usize| tokens.get(at).map_or("", String::as_str);
    let mut path = above.to_vec();
    loop {
        match word(*at) {
            "{" => {
                *at += 1;
                while word(*at) != "}" && *at < tokens.len() {
                    imports(tokens, at, &path, module);
                    if word(*at) == "," {
                        *at += 1;
                    }
                }
                *at += 1;
                return;
            }
            "::" => *at += 1,
            name if is_name(name) || name == "*" => {
                path.push(name.to_owned());
                *at += 1;
            }
            _ => break,
        }
        if word(*at) == "as" {
            let alias = word(*at + 1).to_owned();
            *at += 2;
            bring(path, alias, module);
            return;
        }
    }
    let alias = path.last().cloned().unwrap_or_default();
    if alias == "self" && path.len() > 1 {
        path.pop();
        let alias = path.last().cloned().unwrap_or_default();
        bring(path, alias, module);
    } else {
        bring(path, alias, module);
    }
}

fn bring(path: Vec<String>, alias: String, module: &mut Module) {
    module.paths.push(path.clone());
    module.imports.insert(alias, path);
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_') && token != "as"
}

/// Where the bracket that opens here is closed.
fn closing(tokens: &[String], open: usize) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    tokens.len()
}

/// Names, `::` and single signs, without comments and texts.
fn tokens(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let taken = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(end) = raw_text(rest) {
            end
        } else if first == '"' {
            quoted(rest, '"')
        } else if first == '\'' {
            // A letter between quotes, or else a lifetime.
            let is_letter = rest[1..].starts_with('\\') || rest[1..].chars().nth(1) == Some('\'');
            if is_letter { quoted(rest, '\'') } else { 1 }
        } else if first.is_alphanumeric() || first == '_' {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
            let end = end.unwrap_or(rest.len());
            let raw = &rest[..end] == "r" && rest[end..].starts_with('#');
            if !raw {
                found.push(rest[..end].to_owned());
            }
            end + usize::from(raw)
        } else if rest.starts_with("::") {
            found.push("::".to_owned());
            2
        } else {
            if !first.is_whitespace() {
                found.push(first.to_string());
            }
            first.len_utf8()
        };
        rest = &rest[taken..];
    }
    found
}

/// The length of a raw text that begins here.
fn raw_text(rest: &str) -> Option<usize> {
    let inner = rest.strip_prefix('b').unwrap_or(rest).strip_prefix('r')?;
    let signs = inner.len() - inner.trim_start_matches('#').len();
    let body = inner[signs..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(signs));
    let length = rest.len() - body.len() + body.find(&end).map_or(body.len(), |at| at + end.len());
    Some(length)
}

/// The length of a quoted text or letter that begins here.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, sign) in rest.char_indices().skip(1) {
        if sign == quote && !escaped {
            return at + 1;
        }
        escaped = sign == '\\' && !escaped;
    }
    rest.len()
}
