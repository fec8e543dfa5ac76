import { serveJobs } from '../../../platform/isolation/serve-jobs.ts';
import { keepHeapSmall, patchProgram, type PatchProgram } from './patch-file.ts';

// A process that patches containers, one at a time. Their bytes come from outside, so a crash or a hang costs one container, as it
// does in the process that parses.
const program: PatchProgram = (rules) => {
  keepHeapSmall();
  return patchProgram(rules);
};
serveJobs(program);
