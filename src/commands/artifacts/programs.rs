//! What is known of programs by their names: which start nothing, which run their own words.

/// Programs that take names of files and start no other program.
pub(super) const REMOVERS: &[&str] = &[
    "rm", "unlink", "rmdir", "shred", "truncate", "mv", "test", "[", "ls", "stat",
];

/// Operators of `test` by which a shell that has it built in reads an operand as the name of a variable or as a sum, and runs
/// what is in its brackets.
pub(super) const COMPUTING: &[&str] = &["-v", "-R", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"];

/// Shells that read quotes as `sh` does.
pub(super) const SHELLS: &[&str] = &["sh", "ash", "bash", "dash", "ksh", "mksh", "yash", "zsh"];

/// Programs that run their own words, or give them to a shell of another kind.
const LAUNCHERS: &[&str] = &[
    "autossh",
    "awk",
    "busybox",
    "chroot",
    "csh",
    "doas",
    "env",
    "find",
    "fish",
    "flock",
    "gawk",
    "ionice",
    "lua",
    "mosh",
    "nice",
    "node",
    "nohup",
    "nsenter",
    "parallel",
    "perl",
    "php",
    "pkexec",
    "pssh",
    "pwsh",
    "python",
    "rbash",
    "remsh",
    "rsh",
    "ruby",
    "runuser",
    "script",
    "setsid",
    "setuid",
    "slogin",
    "sshpass",
    "stdbuf",
    "strace",
    "su",
    "sudo",
    "systemd-run",
    "tclsh",
    "tcsh",
    "timeout",
    "tmux",
    "toybox",
    "unshare",
    "watch",
    "xargs",
];

/// What a shell does with its words itself.
pub(super) const BUILTINS: &[&str] = &[
    ".", "alias", "builtin", "command", "eval", "exec", "source", "time", "trap",
];

/// The options of `ssh` that take a value of their own.
pub(super) const OF_SSH: &str = "BbcDEeFIiJLlmOoPpQRSWw";

/// Whether a program runs its own words: a shell, `ssh`, or one that is known to start others.
pub(super) fn runs_words(name: &str) -> bool {
    // python3.11, ksh93
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || ".-".contains(c));
    [name, bare]
        .iter()
        .any(|it| *it == "ssh" || SHELLS.contains(it) || LAUNCHERS.contains(it))
}

pub(super) fn file_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}
