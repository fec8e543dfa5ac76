import { createFieldGlob } from '../../../domain/text/field-glob.ts';
import type { ParseRule, RuleFormat } from './parse-config.ts';

interface Preset {
  readonly include: readonly string[];
  readonly conditions: ParseRule['conditions'];
}

/**
 * RPG Maker MV and MZ. Commands of events have their texts in `parameters`: 401 message, 405 scrolling text, 102 choices, 101
 * the name of a speaker, 320 name, 324 nickname, 325 profile. Comments (108, 408), scripts and names of files have others.
 * Only rows that have a note have a name that players see; those of tilesets have a mode. Source: `rpg_objects.js`,
 * `Game_Interpreter`.
 */
const RPG_MAKER: Preset = {
  include: [
    '/displayName',
    '**/list/*/parameters/0',
    '**/list/*/parameters/0/*',
    '**/list/*/parameters/1',
    '**/list/*/parameters/4',
    '/*/name',
    '/*/nickname',
    '/*/profile',
    '/*/description',
    '/*/message*',
    '/gameTitle',
    '/currencyUnit',
    '/terms/**',
    '/elements/*',
    '/skillTypes/*',
    '/weaponTypes/*',
    '/armorTypes/*',
    '/equipTypes/*',
  ],
  conditions: [
    { fields: ['**/list/*/parameters/0'], sibling: 'code', is: [401, 405] },
    { fields: ['**/list/*/parameters/0/*'], sibling: 'code', is: [102] },
    { fields: ['**/list/*/parameters/1'], sibling: 'code', is: [320, 324, 325] },
    { fields: ['**/list/*/parameters/4'], sibling: 'code', is: [101] },
    { fields: ['/*/name'], sibling: 'id', is: ['*'] },
    { fields: ['/*/name'], sibling: 'note', is: ['*'] },
    { fields: ['/*/name'], sibling: 'mode', isNot: ['*'] },
  ],
};

/** Android's string resources. Source: developer.android.com, "String resources". */
const ANDROID: Preset = {
  include: [
    '/resources[*]/string[*]/text()',
    '/resources[*]/string-array[*]/item[*]/text()',
    '/resources[*]/plurals[*]/item[*]/text()',
  ],
  conditions: [{ fields: ['**'], sibling: '@translatable', isNot: ['false'] }],
};

/** .NET's resources: values that are texts have neither a type nor a media type. Source: System.Resources.ResXResourceWriter. */
const RESX: Preset = {
  include: ['/root[*]/data[*]/value[*]/text()'],
  conditions: [
    { fields: ['**'], sibling: '@type', isNot: ['*'] },
    { fields: ['**'], sibling: '@mimetype', isNot: ['*'] },
  ],
};

const PRESETS: Readonly<Partial<Record<RuleFormat, Preset>>> = {
  'rpg-maker': RPG_MAKER,
  android: ANDROID,
  resx: RESX,
};

/** Whether a text counts, by its path and the values of the fields around it. */
export type FieldSelection = (fieldPath: string, siblingOf: (field: string) => string | null) => boolean;

/** The texts that count in a format of a known engine or platform; `null` where all do. */
export function presetSelection(format: RuleFormat): FieldSelection | null {
  return SELECTIONS.get(format) ?? null;
}

/** The fields that decide in a format which texts count. */
export function presetSiblings(format: RuleFormat): readonly string[] {
  return (PRESETS[format]?.conditions ?? []).map(({ sibling }) => sibling);
}

/** Prepares conditions: every one that is for a field must hold. */
export function compileConditions(conditions: ParseRule['conditions']): FieldSelection {
  const compiled = conditions.map(({ fields, sibling, is, isNot }) => ({
    globs: fields.map(createFieldGlob),
    sibling,
    is: is === undefined ? null : new Set(is.map(String)),
    isNot: new Set((isNot ?? []).map(String)),
  }));
  return (fieldPath, siblingOf) =>
    compiled.every(({ globs, sibling, is, isNot }) => {
      if (!globs.some((matches) => matches(fieldPath))) return true;
      const value = siblingOf(sibling);
      if (value === null) return is === null;
      const isOneOf = (values: ReadonlySet<string>): boolean => values.has('*') || values.has(value);
      return (is === null || isOneOf(is)) && !isOneOf(isNot);
    });
}

const SELECTIONS: ReadonlyMap<string, FieldSelection> = new Map(
  Object.entries(PRESETS).map(([format, { include, conditions }]) => {
    const globs = include.map(createFieldGlob);
    const holds = compileConditions(conditions);
    return [
      format,
      (fieldPath, siblingOf) => globs.some((matches) => matches(fieldPath)) && holds(fieldPath, siblingOf),
    ];
  }),
);
