import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Caller } from '../../src/contract/actions/control-scopes.ts';
import type { ReportBodyOf } from '../../src/contract/reports/reports.ts';
import { glossaryConfigurationSchema } from '../../src/localization/glossary/glossary-config.ts';
import { createGlossary, type Glossary } from '../../src/localization/glossary/glossary.ts';
import { createEvents, type Events } from '../../src/engine/events/events.ts';
import { mainGlossaryPath } from '../../src/localization/glossary/glossary-files.ts';
import type { GlossaryChanged } from '../../src/localization/text-events.ts';
import { threadInProcess, type Thread } from '../../src/platform/threads/thread.ts';
import { createStore, type GlossaryStore } from '../../src/localization/glossary/glossary-worker.ts';
import { createSilentLogger } from '../../src/platform/logging/logging.ts';
import { act } from './actions.ts';
import { TEST_PAIR } from './glossary-terms.ts';
import { aroundCalls } from './caller-in-process.ts';
import { askReport } from './reports.ts';
import { createTestEngine, type TestEngine } from './task-engine.ts';
import { temporaryDirectory } from './temporary-directory.ts';

type ReportedTerm = ReportBodyOf<'translation.glossary.query'>['items'][number];

/** A Glossary with its thread, on a folder of its own. */
export interface TestGlossary extends TestEngine {
  readonly glossary: Glossary;
  readonly events: Events<GlossaryChanged>;
  readonly directory: string;
  /** The main file. */
  readonly path: string;
  /** The folder of exchanged files; it does not exist yet. */
  readonly exchangeRoot: string;
  /** Runs `translation-glossary-<name>`; its error is thrown. */
  act(name: string, body: object, caller?: Caller): Promise<ReportedTerm>;
  /** Adds a term of the test pair. */
  add(body?: object): Promise<ReportedTerm>;
  /** The term of an id, which must be live. */
  term(termId: string): Promise<ReportedTerm>;
}

/** Creates a Glossary whose thread ends with the test. */
export async function createTestGlossary(
  options: {
    readonly directory?: string;
    readonly configuration?: object;
    /** Whether the Glossary has a real thread. Default: its functions run in this one. */
    readonly isThreaded?: boolean;
    /** Runs between a function of the thread and its answer. */
    readonly afterCall?: (name: string) => Promise<void>;
  } = {},
): Promise<TestGlossary> {
  const world = createTestEngine();
  const directory = options.directory ?? (await temporaryDirectory());
  const configuration = glossaryConfigurationSchema.parse(options.configuration ?? {});
  const exchangeRoot = join(directory, 'exchange');
  let ids = 0;
  const path = mainGlossaryPath(directory);
  const events = createEvents<GlossaryChanged>();
  const inProcess = threadInProcess(createStore({ path }));
  const calls = aroundCalls<GlossaryStore>(inProcess.calls, async (name, call) => {
    const answer = await call();
    await options.afterCall?.(name);
    return answer;
  });
  const thread: Thread<GlossaryStore> = { ...inProcess, calls };
  const glossary = createGlossary({
    ...world,
    ...(options.isThreaded === true ? {} : { thread }),
    dataDirectory: directory,
    configuration: () => configuration,
    languages: () => TEST_PAIR,
    logger: createSilentLogger(),
    createId: () => `new${(ids += 1)}`,
    exchangeRoot: () => exchangeRoot,
    version: '1.2.3',
    events,
  });
  onTestFinished(async () => await glossary.close());
  world.engine.jobs.register(...glossary.jobs);
  const run: TestGlossary['act'] = async (name, body, caller) => {
    const { task } = await act(glossary.actions, `translation-glossary-${name}`, { ...body }, caller);
    return (task.result as { term: ReportedTerm }).term;
  };
  return {
    ...world,
    glossary,
    events,
    directory,
    path,
    exchangeRoot,
    act: run,
    add: async (body = {}) => await run('add', { ...ADDED_TERM, ...body }),
    term: async (termId) => {
      const { items } = await askReport(glossary.reports, 'translation.glossary.query', { limit: 1000 });
      const found = items.find(({ term_id }) => term_id === termId);
      if (found === undefined) throw new Error(`no live term ${termId}`);
      return found;
    },
  };
}

/** The body of a term that can be added. */
export const ADDED_TERM = {
  source_term: '先生',
  recommended_translation: '老师',
  source_language: 'ja',
  target_language: 'zh-Hans',
  source: { source_kind: 'manual', observed_unix_seconds: 5 },
};
