//! What is to come of each fault in each step of the local provider and of its harness.

use e2e::faults::Ends::{Well, With};
use e2e::faults::{Missing, Row};
use e2e::python::Python;

/// A failure that uv's steps share: it was to bring what the machine does not have.
const NOT_BROUGHT: i32 = 2;

/// A row whose step's words do not matter, but whose effect is looked for.
const fn effective(python: Python, program: &'static str, step: &'static str, missing: Missing) -> Row {
    let nothing = With(2, "is not there");
    Row { python, program, step, code: 2, named: "", garbage: Well, huge: Well, nothing, missing }
}

/// A row whose step's words are only provenance.
const fn descriptive(python: Python, program: &'static str, step: &'static str, missing: Missing) -> Row {
    let huge = With(1, "more than the 4096 bytes");
    Row { python, program, step, code: 1, named: "", garbage: Well, huge, nothing: Well, missing }
}

/// All steps of an environment and of a run in it.
pub const ROWS: [Row; 15] = [
    Row {
        python: Python::Pip,
        program: "python3",
        step: "ask python",
        code: 2,
        named: "no Python >= 3.12 was found",
        garbage: With(2, "its answer is not what a Python answers"),
        huge: With(2, "it wrote more than the 65536 bytes"),
        nothing: With(2, "its answer is not what a Python answers"),
        missing: Missing::Absent(With(2, "no Python >= 3.12 was found")),
    },
    effective(
        Python::Pip,
        "python3",
        "create environment",
        Missing::After("python3 ask python", With(2, "bin/python3` is not there")),
    ),
    effective(
        Python::Pip,
        "python3",
        "install inference-perf",
        Missing::After("python3 create environment", With(2, "bin/python` is not there")),
    ),
    descriptive(
        Python::Pip,
        "python3",
        "pip version",
        Missing::After("python3 install inference-perf", With(2, "bin/python` is not there")),
    ),
    Row {
        python: Python::Pip,
        program: "python3",
        step: "verify environment",
        code: 2,
        named: "",
        garbage: With(1, "verify environment: its answer cannot be read"),
        huge: With(2, "more than the 1048576 bytes"),
        nothing: With(1, "verify environment: its answer cannot be read"),
        missing: Missing::After("python3 pip version", With(2, "bin/python` is not there")),
    },
    Row {
        python: Python::Pip,
        program: "python3",
        step: "check environment",
        code: 1,
        named: "check environment: ",
        garbage: With(1, "does not work now"),
        huge: With(1, "does not work now"),
        nothing: With(1, "does not work now"),
        missing: Missing::After("python3 verify environment", With(1, "does not work now")),
    },
    Row {
        python: Python::Pip,
        program: "inference-perf",
        step: "inference-perf",
        code: 3,
        named: "",
        garbage: Well,
        huge: Well,
        nothing: With(3, "stage"),
        missing: Missing::After("python3 check environment", With(2, "bin/inference-perf` is not there")),
    },
    effective(Python::Uv, "uv", "create environment", Missing::Never("without uv, pip makes the environment")),
    effective(
        Python::Uv,
        "uv",
        "install inference-perf",
        Missing::After("uv create environment", With(2, "bin/uv` is not there")),
    ),
    descriptive(
        Python::Uv,
        "uv",
        "uv version",
        Missing::After("uv install inference-perf", With(2, "bin/uv` is not there")),
    ),
    Row {
        nothing: With(NOT_BROUGHT, "create uv environment failed"),
        named: "uv could not bring one either: create uv environment failed",
        ..effective(
            Python::Old,
            "python3",
            "create uv environment",
            Missing::After("python3 ask python", With(NOT_BROUGHT, "no Python to install it with")),
        )
    },
    Row {
        nothing: With(NOT_BROUGHT, "install uv failed"),
        named: "uv could not bring one either: install uv failed",
        ..effective(
            Python::Old,
            "python3",
            "install uv",
            Missing::After("python3 create uv environment", With(NOT_BROUGHT, "install uv failed")),
        )
    },
    Row {
        // What uv says it has installed, it then does not find.
        nothing: With(NOT_BROUGHT, "find python failed"),
        named: "uv could not bring one either: install python failed",
        ..effective(
            Python::Old,
            "uv",
            "install python",
            Missing::After("python3 install uv", With(NOT_BROUGHT, "install python failed")),
        )
    },
    Row {
        python: Python::Old,
        program: "uv",
        step: "find python",
        code: NOT_BROUGHT,
        named: "uv could not bring one either: find python failed",
        garbage: With(NOT_BROUGHT, "cannot be used"),
        huge: With(NOT_BROUGHT, "find python failed: it wrote more than the 4096 bytes"),
        nothing: With(NOT_BROUGHT, "cannot be used"),
        missing: Missing::After("uv install python", With(NOT_BROUGHT, "find python failed")),
    },
    PYTHON_OF_UV,
];

/// A uv that cannot say what it has is asked to bring it: whatever happens here, the campaign goes on.
const PYTHON_OF_UV: Row = Row {
    python: Python::Managed,
    program: "uv",
    step: "uv python find",
    code: 0,
    named: "",
    garbage: Well,
    huge: Well,
    nothing: Well,
    missing: Missing::Never("without uv it is not asked"),
};
