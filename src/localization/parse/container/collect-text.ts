import type { PathSyntax } from '../../../formats/collect/path-syntax.ts';
import { TextCollector, type Collected } from '../../../formats/collect/text-collector.ts';
import type { DecodedText } from '../../../formats/text/decode-text.ts';
import type { ReadLimits, ReportPartError } from '../../../formats/value-visitor.ts';
import type { CompiledRule } from '../rules/compile-rules.ts';
import { presetSelection, presetSiblings } from '../rules/format-presets.ts';
import { fieldNamesOf, readText, syntaxOf, type TextFormat } from './text-formats.ts';

/** @param format of the text file; `null` for a file of another format */
export function collectorFor(
  rule: CompiledRule,
  syntax: PathSyntax,
  format: TextFormat | null = null,
): TextCollector {
  const { rowKeys, speakerFields, sceneFields } = fieldNamesOf(format, rule);
  return new TextCollector({
    syntax,
    rowKeys,
    speakerFields,
    sceneFields,
    siblingFields: new Set([...rule.conditionFields, ...(format === null ? [] : presetSiblings(format))]),
    isCandidate: rule.hasSourceScript,
    mayNest: (fieldName) => rule.nestedFormat(fieldName) !== undefined,
  });
}

/** Collects the strings of a text file. @throws FormatError when the file as a whole cannot be read */
export function collectText(
  decoded: DecodedText,
  format: TextFormat,
  rule: CompiledRule,
  { limits, reportPartError }: { readonly limits: ReadLimits; readonly reportPartError: ReportPartError },
): Collected {
  const visitor = collectorFor(rule, syntaxOf(format), format);
  readText(decoded, format, rule, { visitor, limits, reportPartError });
  const collected = visitor.finish();
  const isSelected = presetSelection(format);
  if (isSelected === null) return collected;
  const texts = collected.texts.filter(({ fieldPath, siblingOf }) => isSelected(fieldPath, siblingOf));
  return { ...collected, texts, unselected: collected.texts.length - texts.length };
}
