import { exampleOf } from '../../scripts/reference/examples.ts';
import { parseOutputFormat } from '../../src/cli/ctl/output/view.ts';
import { PLAIN } from '../../src/platform/terminal/painter.ts';
import { Readable } from 'node:stream';
import { REPORTS } from '../../src/contract/reports/reports.ts';
import { UNIT_TRANSLATION_EXAMPLE } from '../../scripts/reference/example-reports.ts';
import { parseControlBody } from '../../src/contract/actions/parse-control-body.ts';
import type { AdminAnswer, AdminApi } from '../../src/cli/ctl/admin-api.ts';
import { findCtlCommand } from '../../src/cli/ctl/ctl-commands.ts';
import { CTL_EXITS, CtlFailure } from '../../src/cli/ctl/ctl-exits.ts';
import { parseCtlArguments, refuseOtherOptions } from '../../src/cli/ctl/ctl-options.ts';
import { systemClock } from '../../src/platform/process/clock.ts';
import type { CtlRun } from './ctl.ts';

/** A unit of the fake service. */
export interface FakeUnit {
  readonly id: string;
  readonly destination: string;
  readonly field: string;
  source: string;
  target: string | null;
  state: string;
  revision: number;
  claimedBy: string | null;
  /** The unit that its target comes from. */
  propagatedFrom: string | null;
  readonly isCut: boolean;
  readonly isTranslatable: boolean;
  readonly speaker: string | null;
  author: { kind: string; token_id: string; provider: string | null; provider_run_id: string | null } | null;
  /** The check that blocks its target; empty for none. */
  blockedBy: string;
  readonly history: {
    revision: number;
    target: string;
    source: string;
    run: string | null;
    provider: string | null;
    token: string;
    kind: string;
    at: number;
  }[];
}

/** A call of `translation-task-update` as it arrived. */
export interface FakeUpdate {
  readonly task_id: string;
  readonly status: string;
  readonly args?: readonly string[];
  readonly provider?: string;
  readonly provider_run_id?: string;
  readonly worker_id?: string;
  readonly translation_results?: readonly { unit_id: string; source_text: string; translated_text: string }[];
}

/** The part of a service that the commands for translators talk to, in the state that a test sets. */
export interface FakeTranslations {
  readonly api: AdminApi;
  readonly units: FakeUnit[];
  /** Calls that were not only tried, in order. */
  readonly updates: FakeUpdate[];
  readonly trials: FakeUpdate[];
  /** Requests of reports, with their queries. */
  readonly reads: string[];
  releaseId: string;
  generation: number;
  /** Units of a page. */
  pageUnits: number;
  taskStatus: string;
  /** Of all tasks. */
  taskReason: string | null;
  token: string;
  now: number;
  /** Pages for which the daemon is too busy to read translations. */
  busyPages: number;
  /** Called before each answer. */
  onRead: (report: string) => void;
  /** Throws to refuse a call. */
  onUpdate: (update: FakeUpdate, isTrial: boolean) => void;
  /** Says what blocks a target; empty for nothing. */
  blocks: (target: string) => string;
  /** The terms of the Glossary: a source and its translation. */
  terms: [string, string][];
  /** How many terms there are in sum, when an answer does not have them all. */
  termTotal: number | null;
  /** Runs a command of `slipway ctl`. */
  run(...argv: readonly string[]): Promise<CtlRun>;
}

/** The task of a destination. */
export function fakeTaskId(destination: string): string {
  return `tt_${destination}`;
}

/** A unit whose missing values are filled in. */
export function fakeUnit(id: string, values: Partial<FakeUnit> = {}): FakeUnit {
  const unit: FakeUnit = {
    id,
    destination: 'a.json',
    field: `/${id}`,
    source: `源${id}`,
    target: null,
    state: 'untranslated',
    revision: 0,
    claimedBy: null,
    propagatedFrom: null,
    isCut: false,
    isTranslatable: true,
    speaker: null,
    author: null,
    blockedBy: '',
    history: [],
    ...values,
  };
  return unit;
}

/** Stores a target as the daemon does. */
export function storeFake(
  unit: FakeUnit,
  {
    target,
    state = 'draft',
    run = null,
    provider = null,
    token = 'other',
    kind = 'import',
    at = 1,
  }: {
    readonly target: string;
    readonly state?: string;
    readonly run?: string | null;
    readonly provider?: string | null;
    readonly token?: string;
    readonly kind?: string;
    readonly at?: number;
  },
): FakeUnit {
  unit.revision += 1;
  unit.history.push({ revision: unit.revision, target, source: unit.source, run, provider, token, kind, at });
  unit.target = target === '' ? null : target;
  unit.state = target === '' ? 'untranslated' : state;
  unit.author = target === '' ? null : { kind, token_id: token, provider, provider_run_id: run };
  return unit;
}

/** The revision of a unit in reports and calls: 0 without a target. */
function shownRevision({ target, revision }: FakeUnit): number {
  return target === null ? 0 : revision;
}

/** Starts a fake service. */
export function fakeTranslations(units: FakeUnit[]): FakeTranslations {
  const fake: FakeTranslations = {
    api: {
      get: async (path, query = {}) => await Promise.resolve(read(fake, path, query)),
      post: async (action, body) => await Promise.resolve(update(fake, action, body ?? '{}')),
    },
    units,
    updates: [],
    trials: [],
    reads: [],
    releaseId: 'r1',
    generation: 1,
    pageUnits: 1000,
    taskStatus: 'in_progress',
    taskReason: null,
    token: 'translator',
    now: 100,
    busyPages: 0,
    onRead: () => undefined,
    onUpdate: () => undefined,
    blocks: () => '',
    terms: [],
    termTotal: null,
    run: async (...argv) => await runCommand(fake, argv),
  };
  return fake;
}

async function runCommand({ api }: FakeTranslations, argv: readonly string[]): Promise<CtlRun> {
  const out: string[] = [];
  const err: string[] = [];
  const args = parseCtlArguments(argv);
  const command = findCtlCommand(args.words);
  if (command === null) throw new Error(`there is no command ${argv.join(' ')}`);
  refuseOtherOptions(args, command.name, command.optionTexts ?? []);
  const context = {
    api,
    args,
    words: args.words.slice(command.name.split(' ').length),
    output: parseOutputFormat(args.values.output === 'json' ? 'json' : undefined),
    painter: PLAIN,
    program: { name: 'slipway ctl', plugin: false, version: '1.2.3' },
    watch: null,
    stdout: { write: (text: string | Uint8Array) => out.push(String(text)) },
    stderr: { write: (text: string) => err.push(text) },
    stdin: Readable.from([]),
    env: {},
    clock: { ...systemClock, sleep: async () => await Promise.resolve() },
    signal: new AbortController().signal,
  };
  const code = await command.run(context).catch((error: unknown) => {
    if (!(error instanceof CtlFailure)) throw error;
    err.push(error.message);
    return error.exit;
  });
  return { code, out: out.join(''), err: err.join('') };
}

/** Answers a report. Every answer is checked by the schema of the contract. */
function read(fake: FakeTranslations, path: string, query: Readonly<Record<string, string>>): AdminAnswer {
  const report = {
    '/admin/parse/text-units': 'parse.text_units',
    '/admin/translation/tasks': 'translation.tasks',
    '/admin/translation/glossary/summary': 'translation.glossary.summary',
    '/admin/translation/glossary/query': 'translation.glossary.query',
    '/admin/translation/glossary/diagnose': 'translation.glossary.diagnose',
  }[path] as 'parse.text_units' | 'translation.tasks' | undefined;
  if (report === undefined) throw new Error(`the fake has no ${path}`);
  fake.reads.push(`${report} ${new URLSearchParams(query).toString()}`);
  fake.onRead(report);
  const { answer } = REPORTS[report];
  const value = { ...exampleOf(answer), ...bodyOf(fake, report, query) };
  return { body: Buffer.from(''), value: answer.schema.strict().parse(value) };
}

function bodyOf(fake: FakeTranslations, report: string, query: Readonly<Record<string, string>>): object {
  const offset = Number(query['offset'] ?? 0);
  if (report === 'parse.text_units') {
    const found = fake.units.filter((unit) => fits(unit, query));
    const page = found.slice(offset, offset + Math.min(fake.pageUnits, Number(query['limit'])));
    const next = offset + page.length;
    const [only] = found;
    const isBusy = (fake.busyPages -= 1) >= 0;
    const isOne = query['field_path'] !== undefined && found.length === 1 && only !== undefined;
    return {
      release_id: fake.releaseId,
      generation: fake.generation,
      total: found.length,
      offset,
      limit: Number(query['limit']),
      next_offset: next < found.length ? next : null,
      history: isOne ? { is_cut: false, items: only.history.map((each) => historyItem(each)) } : null,
      ...(isBusy ? { translations: BUSY } : {}),
      items: page.map((unit) => ({ ...unitItem(fake, unit), ...(isBusy ? { translation: null } : {}) })),
    };
  }
  if (report === 'translation.tasks') {
    const destinations = [...new Set(fake.units.map(({ destination }) => destination))];
    const items = destinations
      .map((destination) => taskItem(fake, destination))
      .filter(({ task_id: id }) => query['task_id'] === undefined || id === query['task_id'])
      .filter(({ status }) => query['status'] === undefined || status === query['status']);
    return { total: items.length, offset, limit: 1000, counts: {}, items };
  }
  if (report === 'translation.glossary.summary') return { counts: { approved: fake.terms.length } };
  if (report === 'translation.glossary.query') {
    const [item] = exampleOf(REPORTS['translation.glossary.query'].answer)['items'] as object[];
    const items = fake.terms.map(([term]) => ({ ...item, source_term: term }));
    return { total: fake.termTotal ?? items.length, items };
  }
  const example = exampleOf(REPORTS['translation.glossary.diagnose'].answer);
  const [constraint] = example['constraints'] as object[];
  const source = query['source_text'] ?? '';
  return {
    source_text: source,
    constraints: fake.terms
      .filter(([term]) => source.includes(term))
      .map(([matched_text, recommended_translation]) => ({
        ...constraint,
        matched_text,
        recommended_translation,
      })),
  };
}

const BUSY = {
  available: false,
  reason: 'translation.db is busy',
  source_language: null,
  target_language: null,
  tasks_built: false,
};

function fits(unit: FakeUnit, query: Readonly<Record<string, string>>): boolean {
  const { destination, field, id, source, target, state } = unit;
  const { destination: wanted, field_path: path, path_pattern: pattern, unit_id: named, text } = query;
  if (named !== undefined && named !== id) return false;
  if (text !== undefined && !`${source}\n${target ?? ''}`.includes(text)) return false;
  if (query['unit_state']?.split(',').includes(state) === false) return false;
  if (wanted !== undefined && wanted !== destination) return false;
  if (pattern !== undefined && !destination.startsWith(pattern.replace('*', ''))) return false;
  return path === undefined || path === field;
}

function unitItem({ releaseId }: FakeTranslations, unit: FakeUnit): object {
  const [example] = exampleOf(REPORTS['parse.text_units'].answer)['items'] as object[];
  return {
    ...example,
    unit_id: unit.id,
    release_id: releaseId,
    destination: unit.destination,
    archive_entry: null,
    field_path: unit.field,
    source_text: unit.source,
    is_cut: unit.isCut,
    translatable: unit.isTranslatable,
    speaker: unit.speaker,
    translation: {
      ...UNIT_TRANSLATION_EXAMPLE,
      task_id: fakeTaskId(unit.destination),
      state: unit.state,
      revision: shownRevision(unit),
      target_text: unit.target,
      author: unit.author,
      findings: findingsOf(unit.blockedBy).map((finding) => ({
        ...finding,
        origin: 'target',
        waivable: false,
        source_span: null,
        target_span: null,
      })),
      propagated_from: unit.propagatedFrom,
      claim: unit.claimedBy === null ? null : { owner: unit.claimedBy, expires_at: 999 },
      updated_at: unit.history.at(-1)?.at ?? null,
    },
  };
}

function historyItem({
  revision,
  target,
  source,
  run,
  provider,
  token,
  kind,
  at,
}: FakeUnit['history'][number]): object {
  return {
    revision,
    target_text: target,
    source_text: source,
    is_cut: false,
    state: target === '' ? 'untranslated' : 'draft',
    author: { kind, token_id: token, provider, provider_run_id: run },
    reviewer: null,
    reviewer_token_id: null,
    reason: null,
    model: null,
    prompt_digest: null,
    glossary_generation: null,
    task_id: null,
    release_id: null,
    returned: null,
    propagated_from: null,
    at,
  };
}

function taskItem({ units, taskStatus, taskReason, releaseId }: FakeTranslations, destination: string) {
  const [example] = exampleOf(REPORTS['translation.tasks'].answer)['items'] as object[];
  const counts: Record<string, number> = {};
  for (const unit of units) {
    if (unit.destination === destination) counts[unit.state] = (counts[unit.state] ?? 0) + 1;
  }
  return {
    ...example,
    task_id: fakeTaskId(destination),
    release_id: releaseId,
    destination,
    archive_entry: null,
    status: taskStatus,
    reason: taskReason,
    unit_counts: counts,
  };
}

/** Makes an update, all or nothing. The body is checked by the rules of the contract. */
function update(fake: FakeTranslations, action: string, body: string): AdminAnswer {
  if (Buffer.byteLength(body) > 1024 * 1024) throw new Error('the service takes no body of this size');
  const value = JSON.parse(body) as FakeUpdate;
  const parsed = parseControlBody('translation-task-update', value);
  if (!parsed.ok || action !== 'translation-task-update') {
    throw new Error(`the body is not valid: ${JSON.stringify(parsed)}`);
  }
  const isTrial = value.args?.includes('dry_run=true') ?? false;
  fake.onUpdate(value, isTrial);
  (isTrial ? fake.trials : fake.updates).push(value);
  const results = (value.translation_results ?? []).map((result) => {
    const unit = fake.units.find(({ id }) => id === result.unit_id);
    if (unit === undefined || unit.source !== result.source_text) refuse('source_mismatch');
    if (!(value.args ?? []).includes(`expect=${unit.id}:${shownRevision(unit)}`)) refuse('revision_changed');
    return { unit, text: result.translated_text, why: fake.blocks(result.translated_text) };
  });
  const units = results.map(({ unit, text, why }) => {
    const state = text === '' ? 'untranslated' : why === '' ? 'draft' : 'blocked';
    if (!isTrial) {
      const run = value.provider_run_id ?? null;
      storeFake(unit, {
        target: text,
        state,
        run,
        provider: value.provider ?? null,
        token: fake.token,
        at: fake.now,
      });
      unit.blockedBy = why;
    }
    const findings = findingsOf(why);
    return { unit_id: unit.id, revision: unit.revision, state, findings };
  });
  const answer = {
    accepted: true,
    action,
    task_id: 'x',
    status: 'succeeded',
    deduplicated: false,
    ignored_fields: [],
    result: { units, token_id: fake.token },
  };
  return { body: Buffer.from(''), value: answer };
}

/** The findings on a target that something blocks. */
function findingsOf(why: string) {
  return why === '' ? [] : [{ check: why, severity: 'error', message: `it is ${why}` }];
}

/** A refusal as the service gives it. */
export function refuse(code: string, exit: CtlFailure['exit'] = CTL_EXITS.failed): never {
  throw new CtlFailure(exit, `refused (409 ${code})`, { code });
}
