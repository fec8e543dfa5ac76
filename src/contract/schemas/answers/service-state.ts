import { z } from 'zod';
import { REMEDY_ACTIONS, SERVICE_REASON_NAMES } from '../../../domain/service-state/service-reasons.ts';
import { SERVICE_STATE_NAMES } from '../../../domain/service-state/service-state.ts';
import { UnixSeconds } from './common.ts';

const ServiceStateSchema = z.object({
  state: z.enum(SERVICE_STATE_NAMES).describe('The effect on clients; see the catalogue of states.'),
  reason: z
    .enum(SERVICE_REASON_NAMES)
    .nullable()
    .describe('The first cause, which is what has to be fixed. Null exactly when healthy.'),
  message: z.string(),
  since: UnixSeconds,
  next_step: z
    .object({
      text: z.string(),
      action: z.enum(REMEDY_ACTIONS).nullable().describe('The control action that does it, if there is one.'),
    })
    .nullable()
    .describe('What to do. Null exactly when healthy.'),
  caused: z
    .array(
      z.object({
        what: z.string(),
        since: UnixSeconds.nullable().describe(
          'Since when it is unknown. Null for a check that was not evaluated.',
        ),
      }),
    )
    .describe('The things that depend on the cause and have no finding of their own.'),
});

/** The state of the service, and of each channel. */
export const ServiceAnswerSchema = ServiceStateSchema.extend({
  channels: z.object({ official: ServiceStateSchema, localized: ServiceStateSchema }),
}).describe(
  'The one state of the service, which every surface shows. It is that of the official channel; while that is healthy, a published localized release that needs attention degrades it.',
);
