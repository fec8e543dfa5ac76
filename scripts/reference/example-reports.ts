import type { z } from 'zod';
import type { TaskSchema } from '../../src/contract/reports/report-daemon.ts';
import type { GlossaryTermSchema } from '../../src/contract/reports/report-glossary.ts';
import type { MemoryRecordSchema } from '../../src/contract/reports/report-memory.ts';
import type { REPORTS, ReportName } from '../../src/contract/reports/reports.ts';
import type { UnitTranslationSchema } from '../../src/contract/reports/unit-translation.ts';
import { RELEASE_ROW_EXAMPLE } from './example-answers.ts';
import { EXAMPLE } from './example-values.ts';

/** A page that holds its only row. */
const PAGE_EXAMPLE = { total: 1, offset: 0, limit: 100 } as const;

const TASK_EXAMPLE: z.input<typeof TaskSchema> = {
  task_id: EXAMPLE.taskId,
  kind: 'sync',
  lane: 'release',
  status: 'running',
  args: { force: true },
  attempt: 1,
  max_attempts: 3,
  run_at: EXAMPLE.at,
  created_at: EXAMPLE.at,
  started_at: EXAMPLE.at,
  finished_at: null,
  cancel_requested_at: null,
  cancel_reason: null,
  progress: { done: 1_048_576, total: 6_442_450_944, unit: 'bytes', phase: 'download' },
  result: null,
  failure_code: null,
  failure_reason: null,
  schedule_id: null,
  reviewer: null,
  reason: null,
  correlation_id: '01KAJ2X6V5Q0E8T9R3W7Y1Z4BD',
};

const TERM_EXAMPLE: z.input<typeof GlossaryTermSchema> = {
  term_id: 'gt_01KAJ2X6V5Q0E8T9R3W7Y1Z4BC',
  revision: 1,
  source_term: '先生',
  aliases: [],
  recommended_translation: '老师',
  allowed_translations: [],
  source_language: 'ja',
  target_language: 'zh-Hans',
  category: 'person',
  priority: 0,
  scope: {},
  review_status: 'approved',
  source: { source_kind: 'manual', observed_unix_seconds: EXAMPLE.at },
  created_at: EXAMPLE.at,
  updated_at: EXAMPLE.at,
  review_history: [
    {
      action: 'approve',
      from: 'draft',
      to: 'approved',
      reviewer: 'mika',
      token_id: null,
      reason: null,
      revision: 1,
      at: EXAMPLE.at,
    },
  ],
};

const RECORD_EXAMPLE: z.input<typeof MemoryRecordSchema> = {
  record_id: 'tm_01KAJ2X6V5Q0E8T9R3W7Y1Z4BC',
  state: 'trusted',
  source_language: 'ja',
  target_language: 'zh-Hans',
  source_text: 'おはよう',
  target_text: '早上好',
  context: {},
  context_key: '',
  is_default: true,
  identity: EXAMPLE.blake3,
  provenance: {
    origin: 'proofread',
    provider: 'fixture',
    provider_run_id: 'fixture:6437b3ac',
    task_id: 'tt_01KAJ2X6V5Q0E8T9R3W7Y1Z4BC',
    unit_id: 'tu1_mzxw6ytboi2dgnbvgy3tqojq',
    release_id: EXAMPLE.releaseId,
  },
  reviewer: 'mika',
  reason: null,
  supersedes: null,
  superseded_by: null,
  created_at: EXAMPLE.at,
  confirmed_at: EXAMPLE.at,
  use_count: 3,
  last_used_at: EXAMPLE.at,
};

const LOCATION_EXAMPLE = {
  release_id: EXAMPLE.releaseId,
  destination: EXAMPLE.destination,
  archive_entry: 'ScenarioScript.json',
  path_id: null,
  class_id: null,
  field_path: '/rows/0/TextJp',
  format: 'json',
} as const;

const BOUNDED_PAGE_EXAMPLE = { ...PAGE_EXAMPLE, next_offset: null } as const;

const INDEX_EXAMPLE = { release_id: EXAMPLE.releaseId, generation: EXAMPLE.at } as const;

const AUTHOR_EXAMPLE = {
  kind: 'machine',
  token_id: 'translator',
  provider: 'fixture',
  provider_run_id: 'fixture:6437b3ac',
} as const;

/** A translated unit, for the documents. */
export const UNIT_TRANSLATION_EXAMPLE: z.input<typeof UnitTranslationSchema> = {
  task_id: 'tt_01KAJ2X6V5Q0E8T9R3W7Y1Z4BC',
  state: 'translated',
  revision: 2,
  target_text: '早上好，{name}老师',
  previous_source: null,
  previous_target: null,
  is_cut: false,
  carried_by: 'same',
  author: AUTHOR_EXAMPLE,
  findings: [],
  qa_identity: null,
  glossary_override: null,
  waivers: [],
  hold: null,
  returned: null,
  propagated_from: null,
  claim: null,
  lease: null,
  updated_at: EXAMPLE.at,
};

/** An example of each report, without its envelope. */
export const REPORT_EXAMPLES: {
  readonly [N in ReportName]: z.input<(typeof REPORTS)[N]['answer']['body']>;
} = {
  'daemon.doctor': {
    status: 'ok',
    checks: [
      {
        id: 'store.writable',
        status: 'ok',
        message: 'the snapshot store is writable',
        since: EXAMPLE.at,
        evaluated: true,
      },
    ],
    process: {
      supervised: true,
      restarts: 1,
      last_exit: {
        code: null,
        signal: 'SIGKILL',
        at: EXAMPLE.at - 3600,
        lived_seconds: 86_400,
        listened: true,
      },
    },
    storage: {
      measured_at: EXAMPLE.at,
      total_bytes: 107_374_182_400,
      free_bytes: 65_498_251_264,
      current_bytes: 6_442_450_944,
      retained_bytes: 1_288_490_188,
      reclaimable_bytes: 322_122_547,
      quarantine_bytes: 0,
    },
  },
  'daemon.logs': {
    lines: [
      {
        ts: EXAMPLE.at,
        level: 'info',
        msg: 'sync finished',
        task_id: EXAMPLE.taskId,
        fields: { entries: 8123 },
      },
    ],
  },
  'task.list': { counts: { running: 1 }, items: [TASK_EXAMPLE] },
  'task.status': {
    task: TASK_EXAMPLE,
    course: [
      {
        phase: 'download',
        unit: 'bytes',
        total: 6_442_450_944,
        samples: [
          { at: EXAMPLE.at, done: 0 },
          { at: EXAMPLE.at + 0.5, done: 1_048_576 },
        ],
      },
    ],
  },
  'task.logs': {
    task_id: EXAMPLE.taskId,
    lines: [{ seq: 0, ts: EXAMPLE.at, level: 'info', msg: 'catalog fetched', fields: { entries: 8123 } }],
    truncated: false,
  },
  'translation.glossary.summary': {
    available: true,
    path: 'glossary.db',
    counts: { draft: 4, approved: 320, deprecated: 2, rejected: 1 },
    generation: 512,
    pairs: [{ source_language: 'ja', target_language: 'zh-Hans', counts: { approved: 320 } }],
  },
  'translation.glossary.query': { total: 1, limit: 100, items: [TERM_EXAMPLE] },
  'translation.glossary.diagnose': {
    source_text: 'おはよう、先生',
    constraints: [
      {
        term_id: TERM_EXAMPLE.term_id,
        revision: 1,
        source_span: { start: 5, end: 7 },
        matched_text: '先生',
        recommended_translation: '老师',
        allowed_translations: [],
        requirement: 'must',
        scope: {},
        priority: 0,
      },
    ],
    diagnostics: [],
    decision: { blocked: false, codes: [] },
    qa_identity: 'gqa1_mzxw6ytboi2dgnbvgy3tqojq',
  },
  'translation.memory.summary': {
    available: true,
    path: 'memory.db',
    counts: { candidate: 120, trusted: 40_000, superseded: 12, rejected: 3, conflict_groups: 0 },
    pairs: [{ source_language: 'ja', target_language: 'zh-Hans', counts: { trusted: 40_000 } }],
  },
  'translation.memory.query': {
    source_text: 'おはよう',
    decision: 'reuse',
    truncated: false,
    matches: [
      {
        record: RECORD_EXAMPLE,
        match_type: 'exact',
        score: 100,
        decision: 'reuse',
        penalties: [],
        proposed_text: '早上好',
      },
    ],
  },
  'translation.memory.conflicts': {
    total: 1,
    limit: 100,
    groups: [
      {
        identity: EXAMPLE.blake3,
        source_text: 'おはよう',
        context: {},
        records: [
          RECORD_EXAMPLE,
          { ...RECORD_EXAMPLE, record_id: 'tm_01KAJ2X6V5Q0E8T9R3W7Y1Z4BD', target_text: '早安' },
        ],
      },
    ],
  },
  'parse.status': {
    ...INDEX_EXAMPLE,
    indexed_at: EXAMPLE.at,
    containers: 12,
    by_parse_status: { parsed: 11, unsupported: 1 },
    by_format: { json: 11 },
    units: 40_213,
    errors: 1,
    warnings: 0,
    errors_by_code: { zip_encrypted: 1 },
    seconds: 3.2,
    bytes: 48_120_332,
    carry_over: {
      previous_release_id: '1.65.401992',
      same: 39_800,
      moved: 120,
      unique: 9,
      changed: 84,
      new: 200,
      removed: 31,
    },
    skipped: { no_source_script: 1021 },
    replaced: null,
    last_run: {
      task_id: EXAMPLE.taskId,
      status: 'succeeded',
      started_at: EXAMPLE.at,
      finished_at: EXAMPLE.at + 40,
    },
    parser_version: '1',
    rules_digest: EXAMPLE.blake3,
  },
  'parse.text_units': {
    ...INDEX_EXAMPLE,
    ...BOUNDED_PAGE_EXAMPLE,
    translations: {
      available: true,
      reason: null,
      source_language: 'ja',
      target_language: 'zh-Hans',
      tasks_built: true,
    },
    history: null,
    items: [
      {
        unit_id: 'tu1_mzxw6ytboi2dgnbvgy3tqojqga',
        ...LOCATION_EXAMPLE,
        key_path: ['bundles/scenario_*.bundle', '49:ScenarioScript', 'm_Script#/rows/Id=1001/TextJp'],
        source_text: 'おはよう、{name}先生',
        is_cut: false,
        source_digest: EXAMPLE.blake3,
        ordinal: 0,
        placeholders: ['{name}'],
        translatable: true,
        reason: null,
        speaker: 'アロナ',
        scene: null,
        previous_unit_id: null,
        next_unit_id: 'tu1_nbswy3dpeb3w64tmmqqhgzlyha',
        carried_by: { tier: 'same', unit_id: 'tu1_mzxw6ytboi2dgnbvgy3tqojqga' },
        box: { columns: 44, lines: 2, font_width: 1 },
        translation: UNIT_TRANSLATION_EXAMPLE,
      },
    ],
  },
  'parse.errors': {
    ...INDEX_EXAMPLE,
    ...BOUNDED_PAGE_EXAMPLE,
    items: [
      {
        ...LOCATION_EXAMPLE,
        field_path: null,
        code: 'zip_encrypted',
        message: 'the archive entry is encrypted',
        severity: 'error',
        parse_status: 'partial',
        first_seen: EXAMPLE.at,
      },
    ],
  },
  'release.status': {
    official: {
      release_id: EXAMPLE.releaseId,
      snapshot_id: EXAMPLE.snapshotId,
      state: 'current',
      integrity: 'ok',
      verified_at: EXAMPLE.at - 3600,
      damaged: [],
      damaged_count: 0,
    },
    localized: null,
    relation: 'no_localized',
    attestation: {
      version: 1042,
      issued_at: EXAMPLE.at,
      expires_at: EXAMPLE.at + 600,
      key_ids: ['f1b2c3d4e5f60718'],
      authorizes: { official: EXAMPLE.releaseId, localized: null, retained: [] },
    },
    announced: null,
    announced_localized: null,
    sync: {
      last: {
        task_id: EXAMPLE.taskId,
        status: 'failed',
        result: null,
        code: 'upstream_unreachable',
        message: 'upstream refused the connection; check upstream.url',
        finished_at: EXAMPLE.at - 60,
      },
      next_at: EXAMPLE.at + 240,
      consecutive_failures: 1,
    },
    upstream: { kind: 'slipway', label: 'https://origin.example.org' },
    origin: {
      not_followed: {
        since: EXAMPLE.at - 60,
        code: 'upstream_unreachable',
        message: 'the origin has not been followed since 2025-11-21T00:00:00Z (upstream_unreachable)',
        served_until: EXAMPLE.at + 86_340,
      },
      went_back: null,
    },
    crash_loop: null,
  },
  'release.list': { total: 1, releases: [RELEASE_ROW_EXAMPLE] },
  'schedule.list': {
    total: 1,
    items: [
      {
        id: 'nightly-verify',
        group: 'res',
        origin: 'manual',
        replaced_by: null,
        action: 'verify',
        args: ['channel=official'],
        enabled: true,
        next_run_unix_seconds: EXAMPLE.at + 86_400,
        every_seconds: 86_400,
        max_runs: null,
        run_count: 12,
        last_run_unix_seconds: EXAMPLE.at,
        last_task_id: EXAMPLE.taskId,
        last_status: 'succeeded',
        skipped_overlap: 0,
        exhausted: false,
      },
    ],
  },
  'translation.tasks': {
    ...PAGE_EXAMPLE,
    counts: { translated: 1 },
    items: [
      {
        task_id: 'tt_01KAJ2X6V5Q0E8T9R3W7Y1Z4BC',
        release_id: EXAMPLE.releaseId,
        destination: EXAMPLE.destination,
        archive_entry: 'ScenarioScript.json',
        format: 'json',
        status: 'translated',
        worker_status: 'succeeded',
        parse_status: 'parsed',
        reason: null,
        failure_reason: null,
        attempt: 1,
        max_attempts: 3,
        lease_owner: null,
        lease_expires_at: null,
        next_attempt_at: null,
        provider: 'fixture',
        provider_run_id: 'fixture:6437b3ac',
        unit_counts: { translated: 20 },
        updated_at: EXAMPLE.at,
      },
    ],
  },
  'translation.handoff': {
    releases: [
      {
        release_id: EXAMPLE.releaseId,
        counts: { pending: 3, blocked: 1 },
        ready_total: { tasks: 1, units: 20 },
        ready: [
          {
            task_id: 'tt_01KAJ2X6V5Q0E8T9R3W7Y1Z4BC',
            destination: EXAMPLE.destination,
            archive_entry: 'ScenarioScript.json',
            units: 20,
            status: 'pending',
            reason: null,
            failure_reason: null,
          },
        ],
        blocked_total: 1,
        blocked: [
          {
            task_id: 'tt_01KAJ2X6V5Q0E8T9R3W7Y1Z4BD',
            unit_id: 'tu1_mzxw6ytboi2dgnbvgy3tqojq',
            destination: EXAMPLE.destination,
            source_text: 'おはよう',
            left_out: null,
            codes: ['term_missing'],
            qa_identity: 'gqa1_mzxw6ytboi2dgnbvgy3tqojq',
          },
        ],
        held_total: 1,
        held: [
          {
            task_id: 'tt_01KAJ2X6V5Q0E8T9R3W7Y1Z4BE',
            unit_id: 'tu1_mzxw6ytboi2dgnbvgy3tqojr',
            destination: EXAMPLE.destination,
            source_text: 'おはよう',
            left_out: null,
            reviewer: 'rin',
            reason: 'wrong tone',
            since: EXAMPLE.at,
          },
        ],
      },
    ],
    open_conflicts: 0,
    last_export: null,
  },
  'translation.status': {
    current: {
      localized_release_id: EXAMPLE.localizedReleaseId,
      base_release_id: EXAMPLE.releaseId,
      snapshot_id: EXAMPLE.snapshotId,
      state: 'current',
      integrity: 'ok',
      published_at: EXAMPLE.at,
      stale: false,
    },
    mirrored_from: null,
    automation: {
      state: 'followed',
      message: `the localized release is built on ${EXAMPLE.releaseId}`,
      since: null,
    },
    coverage: {
      release_id: EXAMPLE.releaseId,
      target_language: 'zh-Hans',
      units: 40_213,
      accepted: 40_000,
      translated: 40_100,
      blocked: 3,
      blocked_left_out: 0,
      skipped: 0,
      excluded: 0,
      by_state: { untranslated: 60, draft: 50, translated: 100, proofread: 40_000, blocked: 3, stale: 0 },
      publishable: 40_000,
    },
    machine_translation: {
      source_language: 'ja',
      target_language: 'zh-Hans',
      providers: [
        {
          name: 'gpt',
          kind: 'openai',
          model: 'gpt-4.1-mini',
          is_default: true,
          can_review: true,
          fallback: null,
          state: 'works',
          last_answer_at: EXAMPLE.at,
          last_failure: null,
          next_request_at: null,
        },
      ],
    },
    history: [
      {
        localized_release_id: EXAMPLE.localizedReleaseId,
        base_release_id: EXAMPLE.releaseId,
        state: 'current',
        at: EXAMPLE.at,
        rolled_back: null,
      },
    ],
    publish_blockers: [
      {
        code: 'qa_blocked',
        message: 'units with blocking findings; slipway ctl translations handoff lists them',
        count: 3,
        unit_state: 'blocked',
      },
    ],
  },
};
