import { z } from 'zod';
import { flag, keyValuePairs } from './field-schemas.ts';

/** `args` of `translation-memory-confirm`. */
export const memoryArguments = keyValuePairs(
  z
    .strictObject({
      target: z.string().min(1).meta({
        'x-kind': 'prose',
        title: 'Another target',
        description: 'A trusted record with this target takes the place of the record.',
      }),
      reject: flag.meta({
        title: 'Reject it',
        description: 'Rejects the record, also a trusted one; it is offered and reused no more.',
      }),
    })
    .partial(),
);
