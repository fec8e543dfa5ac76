import { describe, expect, it } from 'vitest';
import { PLAIN } from '../../../../src/platform/terminal/painter.ts';
import { REPORTS, type ReportName } from '../../../../src/contract/reports/reports.ts';
import {
  renderCoverage,
  renderHandoff,
  renderTranslationTasks,
  renderUnit,
} from '../../../../src/cli/ctl/work-views.ts';

const NOW = 1_763_683_260;
const VIEW = { now: NOW, wide: false, painter: PLAIN };
const AUTHOR = { kind: 'person', token_id: 'mika', provider: null, provider_run_id: null } as const;

const example = <N extends ReportName>(
  name: N,
  change: object = {},
): ReturnType<(typeof REPORTS)[N]['answer']['schema']['parse']> =>
  REPORTS[name].answer.schema.parse({ ...REPORTS[name].answer.example, ...change }) as never;

const lines = (text: string): string[] => text.trimEnd().split('\n');

describe('the coverage for people', () => {
  it('has shares, states and each blocker', () => {
    const { coverage } = example('translation.status');
    const [published] = example('translation.status').history;
    const rolledBack = { at: NOW - 60, reviewer: 'Rin', reason: 'wrong tone' };
    const history = [published, { ...published, rolled_back: rolledBack }];
    const automation = { state: 'stopped', message: 'stopped by a rollback', since: NOW - 60 };
    const publish_blockers = [
      ...example('translation.status').publish_blockers,
      { code: 'below_min_state', count: 50, message: 'drafts; localized.minState demands translated' },
    ];
    const change = { current: null, coverage, history, automation, publish_blockers };
    const report = example('translation.status', change);
    expect(lines(renderCoverage(report, VIEW))).toEqual([
      'release:                1.66.405117',
      'language:               zh-Hans',
      'localized:              none',
      expect.stringMatching(/^rolled back: +1\.66\.405117-l1, 2025-.*\(1m ago\) by Rin: wrong tone$/),
      'follows:                stopped: stopped by a rollback',
      'units:                  40213',
      'accepted (proofread):   40000 (99 %)',
      'translated or accepted: 40100 (99 %)',
      'states:                 untranslated 60, draft 50, translated 100, proofread 40000, blocked 3',
      'blocks publishing:      3 qa_blocked: units with blocking findings; slipway ctl translations handoff lists them',
      'not published:          50 below_min_state: drafts; localized.minState demands translated',
    ]);
  });

  it('tells units in skipped tasks only when there are some', () => {
    const { coverage } = example('translation.status');
    const text = renderCoverage(
      example('translation.status', { coverage: { ...coverage, skipped: 8 } }),
      VIEW,
    );
    expect(text).toMatch(/^units: +40213, 8 in skipped tasks$/m);
  });

  it('tells how many blocked units prevent nothing', () => {
    const { coverage } = example('translation.status');
    const change = { coverage: { ...coverage, blocked_left_out: 2 } };
    expect(renderCoverage(example('translation.status', change), VIEW)).toContain(
      'blocked 3 (2 of the blocked in files or tasks that are not published)\n',
    );
  });

  it('has no shares of nothing', () => {
    const { coverage } = example('translation.status');
    const none = { ...coverage, release_id: null, units: 0, accepted: 0, translated: 0, by_state: {} };
    const text = renderCoverage(example('translation.status', { coverage: none }), VIEW);
    expect(text).toContain('accepted (proofread):   0\n');
    expect(text).toContain('release:                -\n');
    expect(text).toContain('localized:              1.66.405117-l1, current, ok, became current 2025-');
  });
});

describe('the work for translators, for people', () => {
  it('lists ready tasks and blocked units, and says that there are more', () => {
    const [release] = example('translation.handoff').releases;
    const releases = [
      {
        ...release,
        ready: (release?.ready ?? []).map((task) => ({
          ...task,
          status: 'failed',
          failure_reason: 'lease_expired',
        })),
        ready_total: { tasks: 3, units: 90 },
        blocked: (release?.blocked ?? []).map((unit) => ({ ...unit, left_out: 'excluded_file' })),
        blocked_total: 5,
        held_total: 7,
      },
      {
        ...release,
        release_id: 'r0',
        counts: { superseded: 2 },
        ready: [],
        blocked: [],
        ready_total: { tasks: 0, units: 0 },
        blocked_total: 0,
        held_total: 0,
        held: [],
      },
    ];
    const last = { release_id: 'r0', file: 'r0.xlf', sha256: 'ab', units: 7, created_at: NOW - 60 };
    const text = renderHandoff(example('translation.handoff', { releases, last_export: last }), VIEW);
    expect(text).toContain('release 1.66.405117: pending 3, blocked 1\n');
    expect(text).toContain('release r0:          superseded 2\n');
    expect(text).toMatch(/ failed +20 +TableBundles\/Excel\.zip!\/ScenarioScript\.json +lease_expired\n/);
    expect(text).toContain('and 2 more tasks; 90 units in all\n');
    expect(text).toContain('and 4 more blocked units\n');
    expect(text).toMatch(/ term_missing \(excluded_file\) /);
    expect(text).toMatch(/tu1_\w+ +tt_\w+ +rin +wrong tone\n/);
    expect(text).toContain('and 6 more units on hold\n');
    expect(text).toMatch(/last export: +r0\.xlf, 7 units of r0, .*\(1m ago\)\n/);
  });

  it('is short when there is nothing to do, and honest about the Translation Memory', () => {
    const text = renderHandoff(
      example('translation.handoff', { releases: [], open_conflicts: null, last_export: null }),
      VIEW,
    );
    expect(lines(text)).toEqual([
      'conflicts:   unknown: the Translation Memory cannot be used',
      'last export: none',
    ]);
  });
});

describe('translation tasks for people', () => {
  it('say why, and where the next ones are', () => {
    const [task] = example('translation.tasks').items;
    const items = [
      { ...task, failure_reason: 'http 500', reason: 'again' },
      { ...task, archive_entry: null, lease_owner: 'w1' },
    ];
    const text = renderTranslationTasks(example('translation.tasks', { items, total: 9, offset: 4 }), VIEW);
    expect(lines(text)[1]).toMatch(/TableBundles\/Excel\.zip!\/ScenarioScript\.json +http 500; again$/);
    expect(lines(text)[2]).toMatch(/TableBundles\/Excel\.zip +leased by w1$/);
    expect(lines(text)[3]).toBe('9 tasks: translated 1; --offset 6 shows more');
    const none = example('translation.tasks', { items: [], total: 0, counts: {} });
    expect(renderTranslationTasks(none, VIEW)).toBe('there are no such translation tasks\n');
  });
});

describe('a text unit for people', () => {
  const report = (change: object, page: object = {}) => {
    const [unit] = example('parse.text_units').items;
    const translation = { ...unit?.translation, ...change };
    return example('parse.text_units', { items: [{ ...unit, translation }], ...page });
  };

  it('has decisions, findings and the history', () => {
    const finding = {
      check: 'kana_residue',
      origin: 'target',
      severity: 'warning',
      message: 'the target has kana',
      waivable: true,
      source_span: null,
      target_span: null,
    };
    const entry = {
      revision: 1,
      target_text: '早'.repeat(70),
      source_text: 'おはよう',
      is_cut: false,
      state: 'draft',
      author: AUTHOR,
      reviewer: 'Mika',
      reviewer_token_id: 'token-2',
      reason: 'too formal',
      model: null,
      prompt_digest: null,
      glossary_generation: null,
      task_id: null,
      release_id: null,
      returned: null,
      propagated_from: null,
      at: NOW - 60,
    };
    const text = renderUnit(
      report(
        {
          state: 'stale',
          target_text: null,
          previous_source: 'まえ',
          previous_target: '之前',
          author: AUTHOR,
          findings: [finding, { ...finding, check: 'empty_target', severity: 'error' }],
          waivers: [{ check: 'kana_residue', reviewer: 'M', reason: 'r', token_id: null, at: 1 }],
          hold: { reviewer: 'Mika', reason: 'wait', at: NOW - 60 },
          claim: { owner: 'mika', expires_at: NOW + 60 },
          lease: { owner: 'w1', expires_at: NOW + 60 },
        },
        { history: { items: [entry], is_cut: true } },
      ),
      VIEW,
    );
    expect(text).toMatch(/state: +stale, revision 2\n/);
    expect(text).toMatch(/previous source: +まえ\n/);
    expect(text).toMatch(/author: +person by token mika\n/);
    expect(text).toMatch(/hold: +Mika, wait, .*\(1m ago\)\n/);
    expect(text).toMatch(/claim: +mika, expires .*\(in 1m\)\n/);
    expect(text).toMatch(/lease: +w1, expires .*\(in 1m\)\n/);
    expect(text).toMatch(/warning kana_residue: +the target has kana \(waived\)\n/);
    expect(text).toMatch(/error empty_target: +the target has kana\n/);
    expect(text).not.toMatch(/^target:/m);
    expect(text).toMatch(/^1 +\S+ \S+ \(1m ago\) +draft +person by token mika +Mika: too formal +早{59}…$/m);
    expect(text.endsWith('older entries are not shown\n')).toBe(true);
  });

  it('says that translations are not available, that others have the field, or that there is none', () => {
    const [unit] = example('parse.text_units').items;
    const translations = {
      available: false,
      reason: 'translation.db cannot be used',
      source_language: null,
      target_language: null,
      tasks_built: false,
    };
    const without = { items: [{ ...unit, translation: null }], translations };
    expect(renderUnit(example('parse.text_units', without), VIEW)).toMatch(
      /translation: +translation\.db cannot be used\n/,
    );
    expect(renderUnit(report({}, { total: 3 }), VIEW)).toContain(
      'and 2 more units have this field; name the archive entry\n',
    );
    expect(renderUnit(example('parse.text_units', { items: [], total: 0 }), VIEW)).toContain('no text unit');
  });
});
