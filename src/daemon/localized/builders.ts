import { join } from 'node:path';
import type { Clock } from '../../platform/process/clock.ts';
import { loadRules, RulesError } from '../parse/rules/load-rules.ts';
import type { ParseConfiguration } from '../parse/rules/parse-config.ts';
import { TaskError } from '../tasks/task.ts';
import type { CatalogsConfiguration } from './catalogs/catalogs-config.ts';
import { createCatalogRewriter, type SearchMemory } from './catalogs/catalog-rewriter.ts';
import { createContainerPatcher } from './patch/create-container-patcher.ts';
import type { Builders } from './publish/build-files.ts';
import { WORK_FOLDER } from './publish/publish-texts.ts';

const MEBIBYTE = 1024 * 1024;

/** The settings of the programs that build files. */
export interface BuilderOptions {
  readonly parse: () => ParseConfiguration;
  readonly catalogs: () => CatalogsConfiguration;
  /** The private folder of the daemon. */
  readonly dataDirectory: string;
  readonly clock: Clock;
  /** Which files of the last release are catalogs. */
  readonly memory: SearchMemory;
}

/**
 * Prepares the patcher and the rewriter of catalogs with the rules that apply now. Their processes have the limits of those that
 * parse; the catalogs, which are searched in a whole release, have a time of their own.
 *
 * @throws TaskError `rules_invalid`
 */
export async function openBuilders({
  parse,
  catalogs,
  dataDirectory,
  clock,
  memory,
}: BuilderOptions): Promise<Builders> {
  const settings = parse();
  const rules = await loadRules(settings).catch((error: unknown) => {
    if (!(error instanceof RulesError)) throw error;
    throw new TaskError('rules_invalid', error.message, { cause: error });
  });
  const { processes, memoryMebibytes, timeoutSeconds } = settings;
  const limits = {
    rules,
    scratchDirectory: join(dataDirectory, WORK_FOLDER),
    memoryBytes: memoryMebibytes * MEBIBYTE,
    clock,
  };
  const lists = catalogs();
  return {
    openPatcher: () => createContainerPatcher({ ...limits, timeoutMs: timeoutSeconds * 1000, processes }),
    rewriter: createCatalogRewriter({
      ...limits,
      timeoutMs: lists.timeoutSeconds * 1000,
      catalogs: lists,
      memory,
    }),
    concurrency: processes,
  };
}
