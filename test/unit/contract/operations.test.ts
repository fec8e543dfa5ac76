import { exampleOf } from '../../../scripts/reference/examples.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { actionDefinition, CONTROL_ACTIONS } from '../../../src/contract/actions/actions.ts';
import { CONTROL_FIELDS } from '../../../src/contract/actions/control-body.ts';
import { listOperations, OPERATIONS } from '../../../src/contract/operations/operations.ts';
import { parseQuery, renderQuery } from '../../../src/contract/operations/query-parser.ts';
import { ProblemSchema } from '../../../src/contract/problems/problem-schema.ts';
import { isProblemCode, PROBLEMS } from '../../../src/contract/problems/problems.ts';
import { isReportName, REPORTS } from '../../../src/contract/reports/reports.ts';
import { STRING_MAP_PATTERN } from '../../../src/contract/schemas/parameters.ts';
import type { QuerySchema } from '../../../src/contract/schemas/query.ts';

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
  ['get', '/v1/distribution', `channel release_id since destination ${PAGE}`, '200 409 503'],
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
  [
    'get',
    '/admin/parse/text-units',
    `${UNIT_FILTERS} text text_in unit_state speaker author unit_id same`,
    '200 400 401 503',
  ],
  ['get', '/admin/parse/errors', UNIT_FILTERS, '200 400 401 503'],
  ['get', '/admin/schedules', 'id group enabled', '200 401 503'],
  [
    'get',
    '/admin/translation/tasks',
    `${PAGE} task_id release_id destination archive_entry status unit_state worker_status parse_status format has_reason has_failure_reason term_source term_target term_kept undo_run undo_author undo_since`,
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

describe('the operations', () => {
  describe('the operation table', () => {
    it('has exactly the specified operations', () => {
      const actual = operations.map(({ method, path }) => `${method} ${path}`).sort();
      expect(actual).toEqual(SPECIFIED.map(([method, path]) => `${method} ${path}`).sort());
    });

    it.each(SPECIFIED)('%s %s has the specified query and statuses', (method, path, query, statuses) => {
      const operation = operations.find((each) => each.method === method && each.path === path);
      expect(Object.keys(operation?.query.shape ?? {}).sort()).toEqual(
        query.split(' ').filter(Boolean).sort(),
      );
      const declared = Object.keys(operation?.answers ?? {});
      expect(statuses.split(' ').filter((status) => !declared.includes(status))).toEqual([]);
    });

    it('requires the admin token on every admin operation except the console', () => {
      const wrong = operations.filter(
        ({ path, auth }) =>
          (auth === 'admin') !== (path.startsWith('/admin/') && path !== '/admin/dashboard/'),
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
          for (const code of answer.codes)
            expect(PROBLEMS[code].status, `${id} ${code}`).toBe(Number(status));
        }
      }
    });

    it('reaches every report from an operation', () => {
      const reached = operations.flatMap(({ daemon }) =>
        daemon && 'report' in daemon ? [daemon.report] : [],
      );
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
      expect(answer.schema.parse(exampleOf(answer))).toEqual(exampleOf(answer));
    });
  });
});

function parse(operation: { readonly query: QuerySchema }, query: string): unknown {
  const parsed = parseQuery(operation.query, new URLSearchParams(query));
  return parsed.ok ? parsed.value : parsed.error.map(({ pointer, message }) => `${pointer} ${message}`);
}

function rejects(operation: { readonly query: QuerySchema }, query: string): string[] {
  const parsed = parseQuery(operation.query, new URLSearchParams(query));
  return parsed.ok ? [] : parsed.error.map(({ pointer }) => pointer);
}

describe('the query of an operation', () => {
  describe('parseQuery', () => {
    it('fills in defaults', () => {
      expect(parse(OPERATIONS.listResources, '')).toEqual({ offset: 0, limit: 100 });
      expect(parse(OPERATIONS.getDistribution, '')).toEqual({ channel: 'official', offset: 0, limit: 100 });
      expect(parse(OPERATIONS.getLogs, '')).toEqual({ tail: 200 });
      expect(parse(OPERATIONS.queryMemory, 'source_text=a')).toEqual({ source_text: 'a', limit: 100 });
    });

    it.each(['0', '1001', '-1', '+1', '1.0', '1e2', ' 1', '0x10', '', 'NaN', '99999999999999999999'])(
      'refuses limit=%s',
      (value) => {
        const query = `limit=${encodeURIComponent(value)}`;
        expect(rejects(OPERATIONS.listResources, query)).toContain('limit');
        expect(rejects(OPERATIONS.listMemoryConflicts, query)).toContain('limit');
      },
    );

    it.each(['1', '1000'])('accepts limit=%s', (value) => {
      expect(parse(OPERATIONS.listResources, `limit=${value}`)).toEqual({ offset: 0, limit: Number(value) });
    });

    it('bounds offset by the exact range of a number', () => {
      expect(parse(OPERATIONS.listResources, 'offset=9007199254740991')).toMatchObject({
        offset: 9007199254740991,
      });
      expect(rejects(OPERATIONS.listResources, 'offset=9007199254740992')).toEqual(['offset']);
    });

    it('bounds tail', () => {
      expect(parse(OPERATIONS.getLogs, 'tail=2000')).toEqual({ tail: 2000 });
      expect(rejects(OPERATIONS.getLogs, 'tail=2001')).toEqual(['tail']);
      expect(rejects(OPERATIONS.getLogs, 'tail=0')).toEqual(['tail']);
    });

    it('keeps every path_id to the last digit', () => {
      fc.assert(
        fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (value) => {
          expect(parse(OPERATIONS.listTextUnits, `path_id=${value}`)).toMatchObject({ path_id: value });
        }),
      );
    });

    it.each(['9223372036854775808', '-9223372036854775809', '1.5', '--1', ''])(
      'refuses path_id=%s',
      (value) => {
        expect(rejects(OPERATIONS.listTextUnits, `path_id=${value}`)).toContain('path_id');
      },
    );

    it('reads booleans strictly', () => {
      expect(parse(OPERATIONS.listSchedules, 'enabled=true')).toEqual({ enabled: true });
      expect(parse(OPERATIONS.listSchedules, 'enabled=false')).toEqual({ enabled: false });
      for (const value of ['1', 'True', 'yes', '']) {
        expect(rejects(OPERATIONS.listSchedules, `enabled=${value}`)).toEqual(['enabled']);
      }
    });

    it('counts an empty required text as missing', () => {
      expect(parse(OPERATIONS.getTaskStatus, '')).toEqual(['task_id is required']);
      expect(rejects(OPERATIONS.getTaskLogs, 'task_id=')).toEqual(['task_id']);
      expect(rejects(OPERATIONS.queryMemory, 'source_text=')).toEqual(['source_text']);
      expect(rejects(OPERATIONS.diagnoseGlossary, '')).toEqual(['source_text']);
    });

    it('reads a context only if it is a JSON object of strings', () => {
      const context = encodeURIComponent('{"speaker":"アル"}');
      expect(parse(OPERATIONS.diagnoseGlossary, `source_text=a&context=${context}`)).toMatchObject({
        context: { speaker: 'アル' },
      });
      for (const bad of [
        '',
        'a',
        '[]',
        '"a"',
        'null',
        '{"a":1}',
        '{"a":{"b":"c"}}',
        '{"a":"b","a":"c"}',
        '{',
      ]) {
        const query = `source_text=a&source_context=${encodeURIComponent(bad)}`;
        expect(rejects(OPERATIONS.queryMemory, query), bad).toEqual(['source_context']);
      }
    });

    it('refuses unknown and repeated parameters on admin routes', () => {
      expect(parse(OPERATIONS.getDiagnostics, 'a=1')).toEqual(['a is not a parameter of this operation']);
      expect(parse(OPERATIONS.getLogs, 'tail=1&tail=2')).toEqual(['tail must not be repeated']);
      expect(rejects(OPERATIONS.getDiagnostics, '__proto__=1&constructor=2')).toEqual([
        '__proto__',
        'constructor',
      ]);
    });

    it('ignores unknown parameters on public routes, whatever their names', () => {
      expect(parse(OPERATIONS.getBootstrap, 'nocache=1&nocache=2&__proto__=x')).toEqual({});
      expect(parse(OPERATIONS.getLauncherConfigJson, 'version=1&file_path=a%2Fb&x=1')).toEqual({
        version: '1',
        file_path: 'a/b',
      });
    });

    it('never treats the token as a parameter', () => {
      expect(parse(OPERATIONS.getDiagnostics, 'svc_token=secret')).toEqual({});
    });

    it('refuses an unknown channel and review status', () => {
      expect(rejects(OPERATIONS.listReleases, 'channel=beta')).toEqual(['channel']);
      expect(rejects(OPERATIONS.queryGlossary, 'review_status=ok')).toEqual(['review_status']);
      expect(rejects(OPERATIONS.listSchedules, 'group=other')).toEqual(['group']);
    });

    it('refuses states that no unit has', () => {
      for (const operation of [OPERATIONS.listTextUnits, OPERATIONS.listTranslationTasks]) {
        expect(rejects(operation, 'unit_state=stale,draft')).toEqual([]);
        expect(rejects(operation, 'unit_state=bogus')).toEqual(['unit_state']);
        expect(rejects(operation, 'unit_state=draft,')).toEqual(['unit_state']);
      }
    });

    it('refuses filters that a search for what is inconsistent would ignore', () => {
      const narrowed = 'same=source&path_pattern=a*&destination=b&limit=5&offset=1';
      expect(rejects(OPERATIONS.listTextUnits, narrowed)).toEqual([]);
      const query = 'same=target&text=a&unit_state=draft&format=json';
      expect(rejects(OPERATIONS.listTextUnits, query)).toEqual(['format', 'text', 'unit_state']);
    });
  });

  describe('renderQuery', () => {
    it('is the inverse of parseQuery', () => {
      const values = fc.record({
        offset: fc.nat(),
        limit: fc.integer({ min: 1, max: 1000 }),
        path_id: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
        destination: fc.string({ minLength: 1, maxLength: 50 }),
      });
      fc.assert(
        fc.property(values, (original) => {
          const parsed = parseQuery(OPERATIONS.listTextUnits.query, renderQuery(original));
          expect(parsed).toEqual({ ok: true, value: original });
        }),
      );
    });

    it('renders a map as JSON and omits absent values', () => {
      expect(renderQuery({ context: { a: 'b' }, enabled: false, id: undefined }).toString()).toBe(
        'context=%7B%22a%22%3A%22b%22%7D&enabled=false',
      );
    });
  });

  describe('the pattern of a JSON object with string values', () => {
    const isAccepted = (text: string): boolean =>
      rejects(OPERATIONS.diagnoseGlossary, `source_text=a&context=${encodeURIComponent(text)}`).length === 0;

    it.each(['{}', ' {\t}\n', '{"a":"b"}', ' { "a" : "b" , "c":"" } ', '{"\\u00e9\\"\\\\":"\\/日本"}'])(
      'matches %j, which is accepted',
      (text) => {
        expect([new RegExp(STRING_MAP_PATTERN, 'u').test(text), isAccepted(text)]).toEqual([true, true]);
      },
    );

    it.each([
      '',
      'a',
      '[]',
      '{"a":1}',
      '{"a":"b",}',
      '{a:"b"}',
      '{"a":{"b":"c"}}',
      '{"a":"\n"}',
      '{"a":"\\x"}',
      '"a"',
    ])('does not match %j, which is refused', (text) => {
      expect([new RegExp(STRING_MAP_PATTERN, 'u').test(text), isAccepted(text)]).toEqual([false, false]);
    });
  });

  describe('parameters whose values do not matter', () => {
    it('count as absent when they are too long, so that launchers get their answer', () => {
      const long = 'x'.repeat(1025);
      expect(parse(OPERATIONS.getLauncherConfigJson, `version=${long}&file_path=a`)).toEqual({
        file_path: 'a',
      });
    });
  });
});

const catalogue = Object.entries(PROBLEMS);

describe('the problems', () => {
  describe('the problem catalogue', () => {
    it.each(catalogue)('documents %s', (code, { status, title, description }) => {
      expect(code).toMatch(/^[a-z]+(?:_[a-z]+)*$/);
      expect(status).toBeGreaterThanOrEqual(400);
      expect(status).toBeLessThan(600);
      expect(title).toMatch(/^[A-Z]/);
      expect(description).toMatch(/\.$/);
    });

    it('covers every status of the specification', () => {
      const statuses = new Set<number>(catalogue.map(([, { status }]) => status));
      expect([400, 401, 403, 409, 501, 502, 503].filter((status) => !statuses.has(status))).toEqual([]);
    });

    it('gives each title to one code', () => {
      const titles = catalogue.map(([, { title }]) => title);
      expect(new Set(titles).size).toBe(titles.length);
    });

    it('holds every code of a refused action', () => {
      const codes = CONTROL_ACTIONS.flatMap((action) => actionDefinition(action).errors);
      expect(codes.filter((code) => !isProblemCode(code))).toEqual([]);
    });

    it('accepts only its own codes', () => {
      expect(isProblemCode('not_found')).toBe(true);
      expect(isProblemCode('toString')).toBe(false);
    });
  });

  describe('the problem body', () => {
    const body = {
      type: 'about:blank',
      title: 'Not distributable',
      status: 503,
      detail: 'wait',
      instance: 'r1',
      code: 'not_distributable',
    };

    it('accepts the members of RFC 9457 and of the catalogue', () => {
      expect(ProblemSchema.safeParse({ ...body, reason: 'EntryDamaged' }).success).toBe(true);
      expect(ProblemSchema.safeParse({ ...body, daemon: { status: null, code: null } }).success).toBe(true);
      expect(ProblemSchema.safeParse({ ...body, errors: [{ pointer: '/a', message: 'b' }] }).success).toBe(
        true,
      );
    });

    it.each([{ reason: 'Nope' }, { status: 200 }, { code: undefined }, { errors: [{}] }])(
      'refuses %j',
      (change) => {
        expect(ProblemSchema.safeParse({ ...body, ...change }).success).toBe(false);
      },
    );
  });
});
