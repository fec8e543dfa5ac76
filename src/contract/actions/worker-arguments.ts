import { z } from 'zod';
import { flag, keyValuePairs, wholeNumber } from './field-schemas.ts';

const NOT_AN_AMOUNT = 'must be a number above 0, such as 2.5';

/** An amount of money in the currency of the configured prices; as text it comes from a `key=value` pair. */
export const amount = z
  .union(
    [
      z.number(),
      z
        .string()
        .regex(/^\d{1,12}(\.\d{1,6})?$/)
        .transform(Number),
    ],
    { error: NOT_AN_AMOUNT },
  )
  .refine((value) => value > 0, { error: NOT_AN_AMOUNT });

/** The entries of `args` of `translation-worker-run`. */
export const WORKER_ARGUMENTS = z
  .strictObject({
    dry_run: flag.meta({ title: 'Dry run', description: 'Only estimates what the run would use.' }),
    max_tokens: wholeNumber({ min: 1 }).meta({
      title: 'Most tokens',
      description: 'Tokens of prompts and answers after which the run stops.',
    }),
    max_cost: amount.meta({
      title: 'Most cost',
      description: 'Cost after which the run stops, in the currency of the configured prices.',
    }),
  })
  .partial();

/** `args` of `translation-worker-run`. */
export const workerArguments = keyValuePairs(WORKER_ARGUMENTS);
