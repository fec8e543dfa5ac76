import { failure, type Result } from '../../../domain/result.ts';
import {
  maskPlaceholders,
  type MaskedText,
  type MaskStyle,
} from '../../../domain/translation/placeholder-mask.ts';
import type { RowFailure } from './ask-until-settled.ts';
import type { UnitToTranslate } from './provider.ts';

/** A unit with its masked source. */
interface MaskedUnit {
  readonly unit: UnitToTranslate;
  readonly masked: MaskedText;
}

/**
 * Masks the sources of units.
 *
 * @returns the units that can be sent in their order, and the failures of those that cannot, by unit id
 */
export function maskUnits(
  units: readonly UnitToTranslate[],
  style: MaskStyle,
): {
  readonly sendable: readonly MaskedUnit[];
  readonly failed: ReadonlyMap<string, Result<string, RowFailure>>;
} {
  const sendable: MaskedUnit[] = [];
  const failed = new Map<string, Result<string, RowFailure>>();
  for (const unit of units) {
    const masked = maskPlaceholders(unit.sourceText, style);
    if (masked !== null) {
      sendable.push({ unit, masked });
      continue;
    }
    const message = 'the source has more different placeholders than tokens exist';
    failed.set(unit.unitId, failure({ code: 'too_many_placeholders', message }));
  }
  return { sendable, failed };
}
