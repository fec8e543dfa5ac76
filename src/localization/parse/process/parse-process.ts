import { serveJobs } from '../../../platform/isolation/serve-jobs.ts';
import { parseProgram } from './parse-program.ts';

// A process that parses containers, one at a time. It trusts nothing in them: a crash or a hang costs one container, because its
// owner kills it and starts another.
serveJobs(parseProgram);
