import { z } from 'zod';
import { word } from '../../contract/actions/field-schemas.ts';
import { MEMORY_STATES } from '../../contract/schemas/vocabulary.ts';
import { MEMORY_FORMAT_NAMES } from '../../exchange/memory/memory-formats.ts';
import {
  EXCHANGE_JOB,
  FILE_ARGUMENTS,
  IMPORT_ARGUMENTS,
  statesArgument,
} from '../../engine/exchange/exchange-arguments.ts';
import type { JobDefinition } from '../../engine/tasks/job.ts';

const format = word(MEMORY_FORMAT_NAMES).optional();

export const MEMORY_IMPORT_JOB = {
  ...EXCHANGE_JOB,
  kind: 'memory-import',
  summary:
    'Imports a TMX or JSON lines file from `exchange.root` into the Translation Memory: as candidates, or as trusted records with `trusted=true` and `reviewer=`. The same file again changes nothing.',
  scope: 'translate',
  reviewSwitches: ['trusted'],
  arguments: z.strictObject({ ...IMPORT_ARGUMENTS, format }),
} as const satisfies JobDefinition;

export const MEMORY_EXPORT_JOB = {
  ...EXCHANGE_JOB,
  kind: 'memory-export',
  summary:
    'Writes the records of the Translation Memory to a TMX or JSON lines file in `exchange.root`; `include` names their states.',
  scope: 'translate',
  arguments: z.strictObject({
    ...FILE_ARGUMENTS,
    format,
    include: statesArgument(MEMORY_STATES, ['trusted', 'candidate']),
  }),
} as const satisfies JobDefinition;
