import { join } from 'node:path';
import type { Clock } from '../../platform/process/clock.ts';
import { processBounds } from '../parse/process/container-processes.ts';
import { loadTaskRules } from '../parse/parse-task.ts';
import type { ParseConfiguration } from '../parse/rules/parse-config.ts';
import type { CatalogsConfiguration } from './localized-config.ts';
import { createCatalogRewriter, type SearchMemory } from './catalogs/catalog-rewriter.ts';
import type { Builders } from './channel.ts';
import { createContainerPatcher } from './patch/container-patcher.ts';
import { WORK_FOLDER } from './publish/publish-texts.ts';
import { rm } from '../../platform/files/file-changes.ts';

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
    const catalogs = options.catalogs();
    const processes = {
      ...processBounds(parse),
      rules: await loadTaskRules(parse),
      scratchDirectory: join(dataDirectory, WORK_FOLDER),
      clock,
    };
    return {
      patcher: createContainerPatcher(processes),
      rewriter: createCatalogRewriter({
        ...processes,
        timeoutMs: catalogs.timeoutSeconds * 1000,
        catalogs,
        memory,
      }),
      concurrency: parse.processes,
    };
  };
}
