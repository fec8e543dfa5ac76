import { describe, expect, it } from 'vitest';
import { listOperations, OPERATIONS } from '../../../../src/contract/operations/operations.ts';
import { PROBLEMS } from '../../../../src/contract/problems/problems.ts';
import { isReportName, REPORTS } from '../../../../src/contract/reports/reports.ts';
import { CONTROL_FIELDS } from '../../../../src/contract/actions/control-body.ts';

const PAGE = 'offset limit';
const UNIT_FILTERS = `${PAGE} destination path_pattern archive_entry path_id class_id field_path format`;

/** The endpoints of the specification: method, path, query, statuses. They are repeated here on purpose. */
const SPECIFIED: ReadonlyArray<readonly [string, string, string, string]> = [
  ['get', '/healthz', '', '200'],
  ['get', '/readyz', 'verbose', '200 503'],
  ['get', '/v1/bootstrap', '', '200 503'],
  ['get', '/v1/launcher/bootstrap', '', '200 503'],
  ['get', '/api/launcher/game/config', '', '200'],
  ['get', '/api/launcher/game/config/json', 'version file_path', '200'],
  ['get', '/api/launcher/advanced/game/download/cdn', '', '200'],
  ['get', '/v1/release', '', '200'],
  ['get', '/v1/releases', 'channel', '200 503'],
  ['get', '/v1/distribution', `channel release_id destination ${PAGE}`, '200 409 503'],
  ['get', '/v1/resources', PAGE, '200'],
  ['get', '/v1/server-info', '', '200'],
  ['get', '/openapi.yaml', '', '200'],
  ['get', '/admin/dashboard/', '', '200'],
  ['get', '/{cdn_host}/{path}', '', '200 206'],
  ['head', '/{cdn_host}/{path}', '', '200'],
  ['get', '/admin/', '', '200 401'],
  ['get', '/admin/diagnostics', '', '200 401 503'],
  ['get', '/admin/logs', 'tail', '200 400 401 503'],
  ['get', '/admin/tasks', '', '200 401 503'],
  ['get', '/admin/tasks/status', 'task_id', '200 400 401 503'],
  ['get', '/admin/tasks/logs', 'task_id', '200 400 401 503'],
  ['get', '/admin/parse/status', '', '200 401 503'],
  ['get', '/admin/parse/text-units', UNIT_FILTERS, '200 400 401 503'],
  ['get', '/admin/parse/errors', UNIT_FILTERS, '200 400 401 503'],
  ['get', '/admin/schedules', 'id group enabled', '200 401 503'],
  [
    'get',
    '/admin/translation/tasks',
    `${PAGE} task_id release_id destination archive_entry status unit_state worker_status parse_status format has_reason has_failure_reason`,
    '200 400 401 503',
  ],
  ['get', '/admin/translation/handoff', '', '200 401 503'],
  ['get', '/admin/translation/memory/summary', 'translation_memory_path', '200 401 503'],
  [
    'get',
    '/admin/translation/memory/query',
    'source_text source_context limit translation_memory_path',
    '200 400 401 503',
  ],
  ['get', '/admin/translation/memory/conflicts', 'limit translation_memory_path', '200 400 401 503'],
  ['get', '/admin/translation/glossary/summary', 'glossary_path', '200 401 503'],
  [
    'get',
    '/admin/translation/glossary/query',
    'source_text category review_status limit glossary_path',
    '200 400 401 503',
  ],
  ['get', '/admin/translation/glossary/diagnose', 'source_text context glossary_path', '200 400 401 503'],
  ['get', '/admin/translation/status', '', '200 401 503'],
  ['get', '/admin/releases/status', '', '200 401 503'],
  ['get', '/admin/releases', 'channel', '200 401 503'],
  ['post', '/admin/control/{action}', '', '202 400 401 403 501 502'],
];

/** The fields of the control body, in the order of the specification. */
const BODY_FIELDS =
  'force id group action args next_run_unix_seconds delay_seconds every_seconds count max_runs clear_args clear_every ' +
  'enabled task_id status failure_reason provider_run_id provider translation_results glossary_override fixture_path ' +
  'concurrency max_attempts lease_seconds retry_backoff_seconds max_tasks worker_id translation_memory_path ' +
  'glossary_path record_id winner_record_id expected_trusted_record_ids supersede_record_id reviewer reason term_id ' +
  'source_term aliases recommended_translation allowed_translations source_language target_language category priority ' +
  'scope review_status source translation_file from_worker patch_manifest localized_release_id';

const operations = listOperations();

describe('the operation table', () => {
  it('has exactly the specified operations', () => {
    const actual = operations.map(({ method, path }) => `${method} ${path}`).sort();
    expect(actual).toEqual(SPECIFIED.map(([method, path]) => `${method} ${path}`).sort());
  });

  it.each(SPECIFIED)('%s %s has the specified query and statuses', (method, path, query, statuses) => {
    const operation = operations.find((each) => each.method === method && each.path === path);
    expect(Object.keys(operation?.query.shape ?? {}).sort()).toEqual(query.split(' ').filter(Boolean).sort());
    const declared = Object.keys(operation?.answers ?? {});
    expect(statuses.split(' ').filter((status) => !declared.includes(status))).toEqual([]);
  });

  it('requires the admin token on every admin operation except the console', () => {
    const wrong = operations.filter(
      ({ path, auth }) => (auth === 'admin') !== (path.startsWith('/admin/') && path !== '/admin/dashboard/'),
    );
    expect(wrong.map(({ id }) => id)).toEqual([]);
  });

  it('refuses unknown parameters exactly on admin operations', () => {
    for (const { id, auth, query, tolerateUnknownQuery } of operations) {
      expect(tolerateUnknownQuery, id).toBe(auth !== 'admin');
      const issues = query.safeParse({ 'not-a-parameter': '1' }).error?.issues ?? [];
      expect(
        issues.some(({ code }) => code === 'unrecognized_keys'),
        id,
      ).toBe(auth === 'admin');
    }
  });

  it('gives every problem answer codes of its own status', () => {
    for (const { id, answers } of operations) {
      for (const [status, answer] of Object.entries(answers)) {
        if (answer.kind !== 'problem') continue;
        expect(answer.codes.length, `${id} ${status}`).toBeGreaterThan(0);
        for (const code of answer.codes) expect(PROBLEMS[code].status, `${id} ${code}`).toBe(Number(status));
      }
    }
  });

  it('reaches every report from an operation', () => {
    const reached = operations.flatMap(({ daemon }) => (daemon && 'report' in daemon ? [daemon.report] : []));
    expect(Object.keys(REPORTS).filter((name) => !reached.some((each) => each === name))).toEqual([]);
    expect(isReportName('task.list')).toBe(true);
    expect(isReportName('constructor')).toBe(false);
  });

  it('types the query of each operation', () => {
    const limit: number | undefined = OPERATIONS.listResources.query.safeParse({ limit: '7' }).data?.limit;
    expect(limit).toBe(7);
  });
});

describe('the control body', () => {
  it('has exactly the specified fields', () => {
    expect(CONTROL_FIELDS).toEqual(BODY_FIELDS.split(' '));
  });
});

describe('answers', () => {
  const bodies = operations.flatMap(({ id, answers }) =>
    Object.entries(answers).flatMap(([status, each]) =>
      each.kind === 'json' ? [{ name: `${id} ${status}`, answer: each.answer }] : [],
    ),
  );

  it.each(bodies)('$name has an example that its schema accepts, without unknown fields', ({ answer }) => {
    expect(answer.schema.parse(answer.example)).toEqual(answer.example);
  });
});
