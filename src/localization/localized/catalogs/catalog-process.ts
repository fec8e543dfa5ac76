import { serveJobs } from '../../../platform/isolation/serve-jobs.ts';
import { catalogProgram } from './catalog-program.ts';

// A process that rewrites the catalogs of a release. It trusts nothing in them: a crash or a hang costs one publish, because its
// owner kills it.
serveJobs(catalogProgram);
