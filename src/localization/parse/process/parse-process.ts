import type { IsolatedProgram } from '../../../platform/isolation/isolated-messages.ts';
import { serveJobs } from '../../../platform/isolation/serve-jobs.ts';
import { parseContainerFile, type ContainerJob } from '../container/parse-container.ts';
import type { ContainerOutcome } from '../container/parsed-container.ts';
import { compileRules } from '../rules/compile-rules.ts';
import type { LoadedRules } from '../rules/load-rules.ts';
import { packUnits, type UnitBatch } from './unit-batch.ts';

// A process that parses containers, one at a time. It trusts nothing in them: a crash or a hang costs one container, because its
// owner kills it and starts another.
const program: IsolatedProgram<LoadedRules, ContainerJob, UnitBatch, ContainerOutcome> = (loaded) => {
  const rules = compileRules(loaded);
  return async (job, { scratchDirectory, send }) =>
    await parseContainerFile(
      { ...job, scratchDirectory },
      rules,
      async (units) => await send(packUnits(units)),
    );
};
serveJobs(program);
