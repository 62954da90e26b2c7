//! Laws that hold for every policy, tried on random ones.

use crate::reference::{Counted, Model, Rule, universe};
use crate::team::{AGENT, Team, action, ask, path, why};
use proptest::prelude::*;
use remit_core::{Effect, Layer, Object, Verb};
use remit_policy::source::Git;
use remit_policy::{Access, Facts, Policy, Remedy, decide};

fn word(access: Access) -> String {
    access.to_string()
}

fn rules() -> impl Strategy<Value = Vec<Rule>> {
    let part = || prop::sample::select(vec!["a", "b", "ab", "*", "**", "a*", "*b", "?", "[ab]"]);
    let pattern = prop::collection::vec(part(), 1..4)
        .prop_filter("one `**` at most", |parts| parts.iter().filter(|part| **part == "**").count() < 2);
    let access = prop::sample::select(vec![
        "none",
        "read",
        "read",
        "write",
        "read-write",
        "read-write",
        "execute",
        "all",
        "all",
    ]);
    let rule = (0..3_usize, pattern, access).prop_map(|(scope, pattern, access)| {
        let mut rule = Rule {
            scope,
            pattern: pattern.into_iter().map(str::to_owned).collect(),
            access: Access::word(access).unwrap(),
        };
        // Only `none` and `read` may be unanchored.
        if rule.pattern[0] == "**" && !rule.access.is_none() {
            rule.access = Access::READ;
        }
        rule
    });
    prop::collection::vec(rule, 0..7)
}

#[derive(Debug, Clone)]
struct Setting {
    rules: Vec<Rule>,
    base: Vec<(Vec<&'static str>, Access)>,
    ceiling: Option<Access>,
    default: Effect,
}

fn settings() -> impl Strategy<Value = Setting> {
    let bases = prop::sample::subsequence(
        vec![
            (vec![], Access::READ),
            (vec!["a"], Access::ALL),
            (vec!["a", "b"], Access::NONE),
            (vec!["c"], Access::WRITE),
        ],
        0..=3,
    );
    let ceiling = prop::option::of(prop::sample::select(vec![Access::READ, Access::WRITE, Access::ALL]));
    let default = prop::sample::select(vec![Effect::Deny, Effect::Deny, Effect::Ask, Effect::Allow]);
    (rules(), bases, ceiling, default).prop_map(|(rules, base, ceiling, default)| Setting {
        rules,
        base,
        ceiling,
        default,
    })
}

fn at(parts: &[&str]) -> String {
    format!("/w/{}", parts.join("/"))
}

fn compile(setting: &Setting) -> Policy {
    team(setting).compile()
}

fn team(setting: &Setting) -> Team {
    let mut team = Team::new().default(setting.default);
    for rule in &setting.rules {
        let text = format!("{} {}", rule.pattern.join("/"), word(rule.access));
        team = match rule.scope {
            0 => team.global(&text),
            1 => team.role("developer", &text),
            _ => team.own(&text),
        };
    }
    for (folder, access) in &setting.base {
        team = team.base(&at(folder), &word(*access));
    }
    if let Some(ceiling) = setting.ceiling {
        team = team.max(&word(ceiling));
    }
    team
}

const VERBS: [(Verb, Access); 3] =
    [(Verb::Read, Access::READ), (Verb::Create, Access::WRITE), (Verb::Execute, Access::READ)];

/// The paths of the small world, thinned out.
fn some(universe: &[Vec<&'static str>], every: usize) -> impl Iterator<Item = (usize, String)> {
    universe
        .iter()
        .enumerate()
        .filter(move |(n, path)| path.len() < 4 || n % every == 0)
        .map(|(n, path)| (n, at(path)))
        .collect::<Vec<_>>()
        .into_iter()
}

fn need(verb: Verb, plain: Access) -> Access {
    if verb == Verb::Execute { plain.union(Access::EXECUTE) } else { plain }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// What is taken away whatever the path gives nothing to anybody, and takes nothing but what it names.
    #[test]
    fn a_mode_only_takes_away_what_it_names(
        setting in settings(),
        verbs in prop::sample::subsequence(vec![Verb::Write, Verb::Create, Verb::Delete, Verb::Rename], 0..=3),
        git in any::<bool>(),
    ) {
        let plain = compile(&setting);
        let mut team = team(&setting);
        let verbs: Vec<_> = verbs.into_iter().map(|verb| team.at(verb, 1)).collect();
        let git = git.then(|| team.at(Git::None, 4));
        let agent = team.agent(AGENT);
        (agent.deny_verbs, agent.git) = (verbs.clone(), git.clone());
        let bound = team.compile();
        for (_, path) in some(&universe(), 7).chain([(0, "/w/.git/HEAD".to_owned())]) {
            for verb in Verb::FILES {
                let (before, after) = (ask(&plain, verb, &path), ask(&bound, verb, &path));
                prop_assert!(after.effect >= before.effect, "{} {}", verb, path);
                let named = verbs.iter().any(|denied| denied.value == verb);
                let gits = git.is_some() && path.contains("/.git");
                prop_assert!(named || gits || after.effect == before.effect, "{} {}", verb, path);
            }
        }
    }

    #[test]
    fn a_decision_equals_the_reference(setting in settings()) {
        let universe = universe();
        let policy = compile(&setting);
        let ceiling = setting.ceiling.unwrap_or(Access::ALL);
        let model = Model { rules: &setting.rules, base: &setting.base, ceiling, default: setting.default };
        let counted = Counted::new(model, &universe);
        for (number, path) in some(&universe, 13) {
            for (verb, plain) in VERBS {
                let expected = counted.answer(number, &universe[number], need(verb, plain));
                let decision = ask(&policy, verb, &path);
                prop_assert_eq!(decision.effect, expected, "{} {} {:?}", verb, path, decision.reasons);
            }
        }
    }

    #[test]
    fn the_order_of_rules_changes_no_answer(setting in settings(), seed in any::<u64>()) {
        let universe = universe();
        let mut shuffled = setting.clone();
        let mut state = seed | 1;
        for at in (1..shuffled.rules.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            shuffled.rules.swap(at, (state >> 33) as usize % (at + 1));
        }
        shuffled.base.reverse();
        let (first, second) = (compile(&setting), compile(&shuffled));
        for (_, path) in some(&universe, 29) {
            for (verb, _) in VERBS {
                prop_assert_eq!(ask(&first, verb, &path).effect, ask(&second, verb, &path).effect, "{} {}", verb, path);
            }
        }
    }

    #[test]
    fn adding_a_none_never_widens(setting in settings(), extra in rules()) {
        let universe = universe();
        let before = compile(&setting);
        let mut more = setting.clone();
        more.rules.extend(extra.into_iter().map(|rule| Rule { access: Access::NONE, ..rule }));
        let after = compile(&more);
        for (_, path) in some(&universe, 29).chain([(0, "/w/.git/HEAD".to_owned())]) {
            for (verb, _) in VERBS {
                prop_assert!(ask(&after, verb, &path).effect >= ask(&before, verb, &path).effect, "{} {}", verb, path);
            }
        }
    }

    #[test]
    fn four_spellings_of_a_pattern_mean_the_same(setting in settings(), spelling in prop::sample::select(vec!["", "/", "/*", "/**"])) {
        let universe = universe();
        let mut spelled = setting.clone();
        for rule in &mut spelled.rules {
            // Wildcards at the end are the spelling; a pattern of nothing else is the whole folder by another name.
            while rule.pattern.len() > 1 && rule.pattern.last().is_some_and(|last| last == "*" || last == "**") {
                rule.pattern.pop();
            }
            if let Some(last) = rule.pattern.last_mut().filter(|last| *last != "*" && *last != "**") {
                last.push_str(spelling);
            }
        }
        let (first, second) = (compile(&setting), compile(&spelled));
        for (_, path) in some(&universe, 29) {
            for (verb, _) in VERBS {
                prop_assert_eq!(ask(&first, verb, &path).effect, ask(&second, verb, &path).effect, "{} {}", verb, path);
            }
        }
    }

    #[test]
    fn nothing_that_is_granted_exceeds_the_ceiling(setting in settings()) {
        let universe = universe();
        let policy = compile(&Setting { base: Vec::new(), ..setting.clone() });
        let agent = policy.agent(AGENT).unwrap();
        for (_, at) in some(&universe, 29).chain([(0, "/w/.git/HEAD".to_owned())]) {
            prop_assert!(setting.ceiling.unwrap_or(Access::ALL).has(agent.access(&path(&at))), "{}", at);
        }
    }

    #[test]
    fn only_two_layers_allow_and_the_plan_and_the_explanation_agree(setting in settings()) {
        let universe = universe();
        let policy = compile(&setting);
        let agent = policy.agent(AGENT).unwrap();
        let more = ["/w/.git/config", "/w/remit.yaml", "/w/.git/HEAD", "/elsewhere"].map(|at| (0, at.to_owned()));
        for (_, at) in some(&universe, 101).chain(more) {
            for (verb, plain) in VERBS {
                let decision = ask(&policy, verb, &at);
                prop_assert!(!decision.reasons.is_empty());
                for reason in &decision.reasons {
                    let may = matches!(reason.layer, Layer::System | Layer::Agent);
                    prop_assert!(may || reason.effect != Effect::Allow, "{:?}", reason);
                }
                let told = why(&policy, verb, &at);
                prop_assert_eq!(&told.decision, &decision);
                prop_assert_eq!(told.remedy.is_none(), decision.effect == Effect::Allow);
                if !decision.reasons.iter().any(|reason| reason.layer == Layer::Protected) {
                    let access = agent.access(&path(&at));
                    prop_assert_eq!(access.has(need(verb, plain)), decision.effect == Effect::Allow);
                }
                prop_assert_eq!(agent.none_rule(&path(&at)).is_some(), decision.reasons.iter().any(|r| r.why == remit_core::Why::None));
            }
        }
    }

    #[test]
    fn any_bytes_as_a_path_get_an_answer(setting in settings(), bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let policy = compile(&setting);
        let Ok(from) = remit_core::AbsPath::lexical(&path("/w"), &bytes) else { return Ok(()) };
        for verb in Verb::FILES {
            for object in [Object::Path(from.clone()), Object::Move { from: from.clone(), to: path("/w/a") }] {
                let decision = decide(&policy, &Facts::default(), &action(AGENT, verb, object));
                prop_assert!(decision.deciding().is_some());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    /// What is proposed does what is promised, and what was allowed stays so.
    #[test]
    fn rules_that_are_proposed_make_the_answer_allow(setting in settings()) {
        let policy = compile(&setting);
        for parts in universe().into_iter().filter(|parts| parts.len() <= 3) {
            let at = at(&parts);
            for verb in [Verb::Read, Verb::Write, Verb::Execute] {
                let told = why(&policy, verb, &at);
                let proposed = told.narrower.as_ref().or(told.remedy.as_ref());
                let Some(Remedy::Add { list, lines, .. }) = proposed else { continue };
                prop_assert_eq!(list, &format!("agents.{AGENT}.permissions"));
                prop_assert_eq!(lines.len(), 1);
                let line = lines[0].strip_prefix("- {path: \"").unwrap().strip_suffix('}').unwrap();
                let (path, access) = line.split_once("\", access: ").unwrap();
                let grown = team(&setting).own(&format!("{path} {access}")).compile();
                let answer = ask(&grown, verb, &at);
                prop_assert_eq!(answer.effect, Effect::Allow, "{} {}: {:?} {:?}", verb, &at, &lines, answer);
                for more in [Verb::Read, Verb::Write, Verb::Execute] {
                    let (before, after) = (ask(&policy, more, &at).effect, ask(&grown, more, &at).effect);
                    prop_assert!(after == Effect::Allow || before != Effect::Allow, "{} {}: {:?}", more, &at, &lines);
                }
            }
        }
    }
}
