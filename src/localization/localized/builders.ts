import { join } from 'node:path';
import type { Clock } from '../../platform/process/clock.ts';
import { loadTaskRules } from '../parse/parse-task.ts';
import type { ParseConfiguration } from '../parse/rules/parse-config.ts';
import type { CatalogsConfiguration } from './catalogs/catalogs-config.ts';
import { createCatalogRewriter, type SearchMemory } from './catalogs/catalog-rewriter.ts';
import type { Builders } from './channel.ts';
import { createContainerPatcher } from './patch/container-patcher.ts';
import { WORK_FOLDER } from './publish/publish-texts.ts';
import { rm } from '../../platform/files/file-changes.ts';

const MEBIBYTE = 1024 * 1024;

/**
 * Creates the function that prepares the patcher and the rewriter of catalogs with the rules that apply now. Their processes have the
 * limits of those that parse; the catalogs, which are searched in a whole release, have a time of their own.
 *
 * @param options `dataDirectory`: the private folder of the daemon
 * @returns throws TaskError `rules_invalid`
 */
export function createBuilders(options: {
  readonly parse: () => ParseConfiguration;
  readonly catalogs: () => CatalogsConfiguration;
  readonly dataDirectory: string;
  readonly clock: Clock;
}): () => Promise<Builders> {
  const { dataDirectory, clock } = options;
  const memory: SearchMemory = { last: null, listPath: join(dataDirectory, 'catalog-search.list') };
  // The search state of an earlier process is lost, and its list has a line for each file of a release.
  void rm(memory.listPath, { force: true }).catch(() => undefined);
  return async () => {
    const parse = options.parse();
    const rules = await loadTaskRules(parse);
    const { processes, memoryMebibytes, timeoutSeconds } = parse;
    const limits = {
      rules,
      scratchDirectory: join(dataDirectory, WORK_FOLDER),
      memoryBytes: memoryMebibytes * MEBIBYTE,
      clock,
    };
    const catalogs = options.catalogs();
    return {
      openPatcher: () => createContainerPatcher({ ...limits, timeoutMs: timeoutSeconds * 1000, processes }),
      rewriter: createCatalogRewriter({
        ...limits,
        timeoutMs: catalogs.timeoutSeconds * 1000,
        catalogs,
        memory,
      }),
      concurrency: processes,
    };
  };
}
