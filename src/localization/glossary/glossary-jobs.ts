import { REVIEW_STATUSES } from '../../domain/glossary/term.ts';
import { z } from 'zod';
import { word } from '../../contract/actions/field-schemas.ts';
import { TERM_FORMAT_NAMES } from '../../exchange/glossary/term-formats.ts';
import {
  EXCHANGE_JOB,
  FILE_ARGUMENTS,
  IMPORT_ARGUMENTS,
  statesArgument,
} from '../../engine/exchange/exchange-arguments.ts';
import type { JobDefinition } from '../../engine/tasks/job.ts';

const format = word(TERM_FORMAT_NAMES).optional();

export const GLOSSARY_IMPORT_JOB = {
  ...EXCHANGE_JOB,
  kind: 'glossary-import',
  summary:
    'Imports a TBX or CSV file from `exchange.root` into the Glossary: as drafts, or with the states of the file with `trusted=true` and `reviewer=`. The same file again changes nothing.',
  scope: 'translate',
  reviewSwitches: ['trusted'],
  arguments: z.strictObject({ ...IMPORT_ARGUMENTS, format }),
} as const satisfies JobDefinition;

export const GLOSSARY_EXPORT_JOB = {
  ...EXCHANGE_JOB,
  kind: 'glossary-export',
  summary:
    'Writes the terms of the Glossary to a TBX or CSV file in `exchange.root`; `include` names their states. TBX has no rejected terms.',
  scope: 'translate',
  arguments: z.strictObject({
    ...FILE_ARGUMENTS,
    format,
    include: statesArgument(REVIEW_STATUSES, ['draft', 'approved', 'deprecated']),
  }),
} as const satisfies JobDefinition;

/** The jobs of the Glossary, in the order of the reference. */
export const GLOSSARY_JOBS = [GLOSSARY_IMPORT_JOB, GLOSSARY_EXPORT_JOB] as const;
