import type { GlossaryPort } from '../../src/localization/glossary/glossary.ts';
import type { TranslationMemory } from '../../src/localization/memory/translation-memory.ts';
import type { TargetJudge } from '../../src/localization/translation/judge/target-judge.ts';
import type { TextRules } from '../../src/localization/translation/judge/text-rules.ts';
import { compileRules } from '../../src/localization/parse/rules/compile-rules.ts';
import { loadedRules } from './parse-bytes.ts';
import { createUnitSource } from '../../src/localization/translation/judge/unit-source.ts';
import type { CharacterSheet } from '../../src/localization/translation/providers/character-sheet.ts';
import type { FailedUnit } from '../../src/localization/translation/providers/provider-failure.ts';
import type {
  TranslationProvider,
  TranslationRequest,
  UnitToTranslate,
} from '../../src/localization/translation/providers/provider.ts';
import { NO_USAGE, createSpending } from '../../src/localization/translation/providers/spending.ts';
import type { Finding } from '../../src/localization/translation/work/store/target-rows.ts';
import type { TranslationWork } from '../../src/localization/translation/work/translation-work.ts';
import type { TranslationStore } from '../../src/localization/translation/work/translation-worker.ts';
import { methodsOf } from '../../src/engine/database/work-file.ts';
import { createRunTally } from '../../src/localization/translation/worker/run-tally.ts';
import { createRunTerms } from '../../src/localization/translation/worker/run-terms.ts';
import { estimateRun } from '../../src/localization/translation/worker/estimate-run.ts';
import type {
  RunPorts,
  RunSettings,
  RunSetup,
  RunWorld,
} from '../../src/localization/translation/worker/run-world.ts';
import { suggestTargets } from '../../src/localization/translation/worker/suggest-targets.ts';
import { runWorkers } from '../../src/localization/translation/worker/worker-run.ts';
import type { TaskContext, TaskResult } from '../../src/engine/tasks/task.ts';
import { createSilentLogger } from '../../src/platform/logging/logging.ts';
import { unixSeconds } from '../../src/platform/process/clock.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { guessTextKind } from '../../src/domain/translation/kind-of-text.ts';
import { indexRelease } from './index-release.ts';
import { callerInProcess } from './caller-in-process.ts';
import { buildTasks, openTestWork, type TestWork } from './translation-work.ts';
import { partial } from './partial.ts';

/** The answer of a scripted provider for one unit: a translation, or why there is none. */
export type ScriptedAnswer = string | (Pick<FailedUnit, 'code'> & Partial<FailedUnit>);

/** Answers for a unit; `call` counts the requests from 1 on. */
export type Script = (
  unit: UnitToTranslate,
  call: number,
  request: TranslationRequest,
) => ScriptedAnswer | Promise<ScriptedAnswer>;

/** The collaborators of a run, with the requests that its provider saw. */
export interface WorkerWorld {
  readonly work: TestWork;
  readonly clock: FakeClock;
  readonly ports: RunPorts;
  readonly requests: TranslationRequest[];
  readonly offered: string[];
  readonly used: string[];
  /** Runs workers to the end; the clock stands still unless a test moves it. */
  run(options?: RunOptions): Promise<TaskResult>;
  /** Estimates a run. */
  estimate(settings: Partial<RunSettings>): Promise<TaskResult>;
}

export interface RunOptions {
  readonly script?: Script;
  readonly settings?: Partial<RunSettings>;
  readonly signal?: AbortSignal;
  readonly progress?: TaskContext['progress'];
  readonly log?: TaskContext['log'];
  readonly provider?: Partial<TranslationProvider>;
  readonly characters?: CharacterSheet;
  /** Only suggests targets for these units; empty for the next open ones. */
  readonly suggest?: readonly Uint8Array[];
}

export const SETTINGS: RunSettings = {
  provider: 'scripted',
  fixturePath: null,
  concurrency: 1,
  maxAttempts: 3,
  leaseSeconds: 300,
  retryBackoffSeconds: 0,
  maxTasks: 100,
  owner: 'w1',
  taskId: null,
  memoryPath: undefined,
  glossaryPath: undefined,
  force: false,
  dryRun: false,
  maxTokens: null,
  maxCost: null,
};

const NEVER = new AbortController().signal;

const blocking = (message: string): Finding => ({
  check: 'placeholders',
  origin: 'target',
  severity: 'error',
  message,
  waivable: false,
  source_span: null,
  target_span: null,
});

/** A target with "BAD" has an error, and one with "WORSE" two. */
const JUDGE: TargetJudge = {
  judge: (texts, { glossaryPath }) =>
    Promise.resolve({
      by: { key: 'rules', generation: glossaryPath === undefined ? 7 : null },
      judgements: texts.map(({ targetText }) => ({
        findings: [
          ...(/BAD|WORSE/.test(targetText) ? [blocking('it is bad')] : []),
          ...(targetText.includes('WORSE') ? [blocking('it is worse')] : []),
        ],
        qaIdentity: 'gqa1_x',
      })),
    }),
};

/** The texts of "limited.json" have at most 9 characters. */
const RULES: TextRules = {
  ...compileRules(
    loadedRules({
      configuration: {
        rules: [
          { destination: ['limited.json'], format: 'json', limits: [{ fields: [], maxCharacters: 9 }] },
        ],
      },
    }),
  ),
  digest: 'rules',
};

/** Trusted records of the memory, by source. */
export type Known = Readonly<Record<string, string>>;

/** Opens the work on some files; each is a list of texts. */
export function openWorkerWorld(
  files: Readonly<Record<string, readonly string[]>>,
  known: Known = {},
  overrides: Partial<RunPorts> = {},
): WorkerWorld {
  const clock = new FakeClock();
  const work = openTestWork();
  indexRelease(
    work.index,
    'r1',
    Object.entries(files).map(([destination, texts]) => ({
      destination,
      leaves: [{ units: texts.map((text, at) => [`k${String(at).padStart(4, '0')}`, text] as const) }],
    })),
  );
  buildTasks(work, unixSeconds(clock), 1000);
  const offered: string[] = [];
  const used: string[] = [];
  const ports = {
    ...portsOf(work, clock, known),
    offers: {
      offer: (targets: readonly { readonly targetText: string }[]) => {
        offered.push(...targets.map(({ targetText }) => targetText));
        return Promise.resolve(true);
      },
      withdraw: () => Promise.resolve(true),
    },
    ...overrides,
  } as RunPorts;
  const counting: RunPorts = {
    ...ports,
    memory: {
      ...ports.memory,
      countUse: (ids) => {
        used.push(...ids);
        return Promise.resolve();
      },
    },
  };
  const requests: TranslationRequest[] = [];
  const setup = (options: RunOptions, script: Script): RunSetup => ({
    ...counting,
    settings: { ...SETTINGS, ...options.settings },
    provider: { ...scripted(script, requests), ...options.provider },
    characters: options.characters ?? new Map(),
    kindOf: guessTextKind,
    about: (destination) => (destination === 'a.json' ? ['The first file.'] : []),
  });
  return {
    work,
    clock,
    ports: counting,
    estimate: async (settings) =>
      await estimateRun(
        setup({ settings }, () => ''),
        {
          signal: new AbortController().signal,
          progress: () => undefined,
        },
      ),
    requests,
    offered,
    used,
    run: async ({ script = (unit: UnitToTranslate) => `T ${unit.sourceText}`, ...options } = {}) => {
      const shared = setup(options, script);
      const world: RunWorld = {
        ...shared,
        spending: createSpending(shared.settings),
        tally: createRunTally(),
        counts: new Map(),
        terms: createRunTerms(shared.glossary, shared.languages, shared.settings.glossaryPath ?? null, NEVER),
      };
      const {
        signal = new AbortController().signal,
        progress = () => undefined,
        log = () => undefined,
      } = options;
      const { suggest } = options;
      return suggest === undefined
        ? await runWorkers(world, { signal, progress, log })
        : await suggestTargets(world, suggest, { signal, progress });
    },
  };
}

function portsOf(work: TestWork, clock: FakeClock, known: Known): Omit<RunPorts, 'offers'> {
  return {
    thread: callerInProcess<TranslationStore>(
      methodsOf<TranslationWork, { damage(): null; close(): void }>(
        (use) => use(work.at(unixSeconds(clock))),
        {
          damage: () => null,
          close: () => undefined,
        },
      ),
    ),
    units: createUnitSource((query) => Promise.resolve(work.index.unitsAfter(query))),
    judge: JUDGE,
    rules: () => Promise.resolve(RULES),
    memory: partial<TranslationMemory>({
      lookUp: (lookups) =>
        Promise.resolve(
          lookups.map(({ source_text: source }) => {
            const target = Object.hasOwn(known, source) ? known[source] : undefined;
            const record = { record_id: `tm_${source}`, source_text: source };
            return target === undefined
              ? { decision: 'none', matches: [] }
              : { decision: 'reuse', matches: [{ record, decision: 'reuse', proposed_text: target }] };
          }) as never,
        ),
      soleTokens: (ids) => Promise.resolve(ids.map(() => 'ann')),
      countUse: () => Promise.resolve(),
    }),
    glossary: partial<GlossaryPort>({
      generation: () => 7,
      approvedTerms: ({ path }) => Promise.resolve([{ source: '先生', target: path ?? '老师' }]),
      diagnose: ({ units }) =>
        Promise.resolve({
          generation: 7,
          diagnoses: units.map(({ sourceText }) => ({
            constraints: sourceText.includes('先生')
              ? [
                  {
                    term_id: 'gt_1',
                    revision: 1,
                    source_span: { start: 0, end: 2 },
                    matched_text: '先生',
                    recommended_translation: '老师',
                    allowed_translations: ['sensei'],
                    requirement: 'must' as const,
                    scope: {},
                    priority: 0,
                  },
                ]
              : [],
            diagnostics: [],
            decision: { blocked: false, codes: [] },
            qa_identity: 'gqa1_x',
          })),
        }),
    }),
    languages: () => ({ sourceLanguage: 'ja', targetLanguage: 'zh-Hans' }),
    clock,
    random: () => 0,
    logger: createSilentLogger(),
  };
}

function scripted(script: Script, requests: TranslationRequest[]): TranslationProvider {
  return {
    name: 'scripted',
    kind: 'openai',
    model: 'model-1',
    promptDigest: 'digest-1',
    promptOf: ({ units }) => ({
      system: 'Translate.',
      user: units.map(({ sourceText }) => sourceText).join(),
    }),
    stepSize: { units: 20, characters: 4000 },
    requestsPerUnit: 3,
    fallback: null,
    beginRun: () => undefined,
    evaluator: null,
    estimate: ({ units }) => ({ ...NO_USAGE, requests: 1, promptTokens: units.length * 10 }),
    translateBatch: async (request) => {
      requests.push(request);
      const call = requests.length;
      request.signal.throwIfAborted();
      const answers = await Promise.all(
        request.units.map(async (unit) => ({ unit, answer: await script(unit, call, request) })),
      );
      const usage = { ...NO_USAGE, requests: 1, promptTokens: request.units.length };
      return {
        usage,
        results: answers.flatMap(({ unit, answer }) =>
          typeof answer === 'string'
            ? [{ unitId: unit.unitId, translatedText: answer, providerRunId: `run-${call}` }]
            : [],
        ),
        failures: answers.flatMap(({ unit, answer }) =>
          typeof answer === 'string'
            ? []
            : [
                {
                  message: `failed as ${answer.code}`,
                  retryAfterMs: null,
                  isFinal: false,
                  ...answer,
                  unitId: unit.unitId,
                },
              ],
        ),
      };
    },
  };
}
