import { serveJobs } from '../../../platform/isolation/serve-jobs.ts';
import { parseContainerFile, type ContainerJob } from '../container/parse-container-file.ts';
import type { ContainerOutcome } from '../container/parsed-container.ts';
import { compileRules, type CompiledRules } from '../rules/compile-rules.ts';
import type { LoadedRules } from '../rules/load-rules.ts';
import { packUnits, type UnitBatch } from './unit-batch.ts';

// The program of a process that parses containers, one at a time. It trusts nothing in them: a crash or a hang costs one
// container, because its owner kills it and starts another.

serveJobs<LoadedRules, CompiledRules, ContainerJob, UnitBatch, ContainerOutcome>({
  prepare: compileRules,
  work: async (rules, job, { scratchDirectory, ...context }) =>
    await parseContainerFile({ ...job, scratchDirectory }, rules, async (units) => {
      await context.send(packUnits(units));
    }),
});
