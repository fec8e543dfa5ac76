import { serveJobs } from '../../../platform/isolation/serve-jobs.ts';
import { compileRules, type CompiledRules } from '../../parse/rules/compile-rules.ts';
import type { LoadedRules } from '../../parse/rules/load-rules.ts';
import type { PatchJob } from './container-patcher.ts';
import { patchFile, type PatchFileResult } from './patch-file.ts';
import { keepHeapSmall } from './small-heap.ts';

// The program of a process that patches containers, one at a time. Their bytes come from outside, so a crash or a hang costs
// one container, as it does in the process that parses.

serveJobs<LoadedRules, CompiledRules, PatchJob, never, PatchFileResult>({
  prepare: (rules) => {
    keepHeapSmall();
    return compileRules(rules);
  },
  work: async (rules, job, { scratchDirectory }) => await patchFile({ ...job, scratchDirectory }, rules),
});
