import { countText } from '../../../domain/count-text.ts';
import { unitIdText } from '../../parse/index/unit-id-text.ts';
import type { UpdateRefusal } from './task-update.ts';

/** Ends the transaction of an update that is refused after it has begun to write. */
export class UpdateRefused extends Error {
  readonly refusal: UpdateRefusal;

  constructor(refusal: UpdateRefusal) {
    super(refusal.detail);
    this.refusal = refusal;
  }
}

/** Most units that a refusal names. */
export const NAMED_UNITS = 20;

/** Names a blocked unit with the identity that an override must have. */
export function nameBlocked(unitId: Uint8Array, qaIdentity: string | null): string {
  return qaIdentity === null ? unitIdText(unitId) : `${unitIdText(unitId)} (${qaIdentity})`;
}

/** The sentence of a refusal because of blocked units. @param named some of them */
export function blockedDetail(count: number, named: readonly string[]): string {
  return `${countText(count, 'unit has', 'units have')} blocking findings: ${named.join(', ')}; correct, waive or override them, or send in_progress`;
}
