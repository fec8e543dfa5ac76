/** The contract's types of the data that the browser reads. Nothing of them is in the bundle. */
import type { z } from 'zod';
import type { ControlScope } from '../../contract/actions/control-scopes.ts';
import type { ProblemSchema } from '../../contract/problems/problem-schema.ts';
import type { REPORTS, ReportName } from '../../contract/reports/reports.ts';
import type { AcceptedAnswer, AdminIndexAnswer } from '../../contract/schemas/answers/admin.ts';
import type { DistributionAnswer } from '../../contract/schemas/answers/distribution.ts';
import type { Health } from '../../contract/schemas/answers/health.ts';
import type { ReadinessAnswer } from '../../contract/schemas/answers/verdict.ts';

export type { ControlScope, ReportName };

export type Report<N extends ReportName> = z.infer<(typeof REPORTS)[N]['answer']['schema']>;

export type { Health };
export type Readiness = z.infer<typeof ReadinessAnswer.schema> & { readonly shutting_down?: boolean };
export type AdminIndex = z.infer<typeof AdminIndexAnswer.schema>;
export type Accepted = z.infer<typeof AcceptedAnswer.schema>;
export type Problem = z.infer<typeof ProblemSchema>;
export type Task = Report<'task.status'>['task'];
export type Schedule = Report<'schedule.list'>['items'][number];
export type ReleaseRow = Report<'release.list'>['releases'][number];
export type DistributionPage = z.infer<typeof DistributionAnswer.schema>;
export type ManifestEntry = DistributionPage['items'][number];
