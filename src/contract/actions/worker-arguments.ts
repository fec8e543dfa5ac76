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

/** What every run that asks a provider takes in `args`. */
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

/** The longest line that tries a provider, UTF-16 code units. */
const TRIED_CHARACTERS = 1000;

/** One line that tries a provider. */
export const triedText = z.string().min(1).max(TRIED_CHARACTERS).meta({
  title: 'Only try this line',
  description: 'Translates only this text, to try the provider. Nothing is stored.',
});

/** What asks for suggestions instead of drafts. */
export const SUGGEST_ARGUMENTS = z
  .strictObject({
    suggest: z.string().min(1).max(4000).meta({
      title: 'Only suggest',
      description:
        'Ids of units of the task with commas between them, or `open` for the next 50 that need a target: the result has a suggestion for each, and nothing is stored.',
    }),
  })
  .partial();

/** `args` of `translation-worker-run`. */
export const workerArguments = keyValuePairs(
  WORKER_ARGUMENTS.extend({ ...SUGGEST_ARGUMENTS.shape, try_text: triedText.optional() }),
);
