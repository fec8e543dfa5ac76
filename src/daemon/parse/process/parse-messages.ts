import type { ContainerFile } from '../container/parse-container-file.ts';
import type { ContainerOutcome } from '../container/parsed-container.ts';
import type { LoadedRules } from '../rules/load-rules.ts';
import type { UnitBatch } from './unit-batch.ts';

/** A message to a process that parses. */
export type ParseRequest =
  | { readonly kind: 'rules'; readonly rules: LoadedRules }
  | { readonly kind: 'parse'; readonly job: ContainerFile }
  /** The units of one message are stored. */
  | { readonly kind: 'continue' };

/** A message from a process that parses. */
export type ParseAnswer =
  | { readonly kind: 'units'; readonly units: UnitBatch }
  | { readonly kind: 'outcome'; readonly outcome: ContainerOutcome };

/** Most messages with units that are sent and not stored. With two, one is stored while the next one is made. */
export const MAX_UNSTORED = 2;
