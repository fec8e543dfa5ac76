import type { IsolatedProgram } from '../../../platform/isolation/isolated-messages.ts';
import { parseContainerFile, type ContainerJob } from '../container/parse-container.ts';
import type { ContainerOutcome } from '../container/parsed-container.ts';
import { compileRules } from '../rules/compile-rules.ts';
import type { LoadedRules } from '../rules/load-rules.ts';
import { packUnits, type UnitBatch } from './unit-batch.ts';

export type ParseProgram = IsolatedProgram<LoadedRules, ContainerJob, UnitBatch, ContainerOutcome>;

export const parseProgram: ParseProgram = (loaded) => {
  const rules = compileRules(loaded);
  return async (job, { scratchDirectory, send }) =>
    await parseContainerFile(
      { ...job, scratchDirectory },
      rules,
      async (units) => await send(packUnits(units)),
    );
};
