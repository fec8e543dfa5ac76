/** An `error` blocks a target; a `warning` is for the reviewer. */
export type CheckSeverity = 'error' | 'warning';

interface CheckDescription {
  readonly severity: CheckSeverity;
  /** Whether a reviewer may accept a target with this finding, with a reason. */
  readonly waivable: boolean;
  /** When the check runs. */
  readonly applies: string;
  readonly description: string;
  readonly nextStep: string;
}

const ALWAYS = 'always';

/** The checks of a target, in the order in which findings are listed. */
export const CHECKS = {
  empty_target: {
    severity: 'error',
    waivable: false,
    applies: 'the source is not blank',
    description: 'The target is empty or blank.',
    nextStep: 'Translate the text.',
  },
  placeholder_mismatch: {
    severity: 'error',
    waivable: false,
    applies: ALWAYS,
    description:
      'A placeholder occurs in the target more or less often than in the source. The order is free. Of a plural or a choice (Smart Format, ICU) the name and the kind are compared, and the alternatives are text.',
    nextStep: 'Copy the placeholders of the source exactly.',
  },
  placeholder_order: {
    severity: 'error',
    waivable: false,
    applies: 'the placeholders are directives of printf without numbers',
    description:
      'Directives such as `%s` and `%d` take their values in order, and the target changes the order.',
    nextStep: 'Keep their order, or ask for numbered directives such as `%1$s`.',
  },
  tag_mismatch: {
    severity: 'error',
    waivable: true,
    applies: 'the field has tags',
    description: 'A tag occurs in the target more or less often than in the source. The order is free.',
    nextStep: 'Copy the tags of the source exactly.',
  },
  tag_nesting: {
    severity: 'error',
    waivable: true,
    applies: 'the field has tags, and those of the source are well nested',
    description:
      'A tag is closed before it is opened, or two tags overlap. A tag that stays open is legal, as in TextMeshPro, unless the field demands that each is closed.',
    nextStep: 'Close the tags in the reverse order of opening.',
  },
  ruby_incomplete: {
    severity: 'error',
    waivable: true,
    applies: 'the target has ruby',
    description: 'Ruby has no base or no reading.',
    nextStep: 'Write both the base and the reading, or remove the ruby.',
  },
  ruby_count: {
    severity: 'warning',
    waivable: true,
    applies: 'the source or the target has ruby',
    description: 'The target has more or less ruby than the source.',
    nextStep: 'Check whether readers of the target language need the reading.',
  },
  lone_surrogate: {
    severity: 'error',
    waivable: false,
    applies: ALWAYS,
    description: 'The target has half of a surrogate pair, which no encoding can carry.',
    nextStep: 'Enter the character again.',
  },
  control_character: {
    severity: 'error',
    waivable: false,
    applies: 'the source has the character less often',
    description: 'The target has a control character, such as NUL. Tabs and line ends are allowed.',
    nextStep: 'Delete the character.',
  },
  replacement_character: {
    severity: 'error',
    waivable: true,
    applies: 'the source has the character less often',
    description: 'The target has U+FFFD, which stands for bytes that could not be decoded.',
    nextStep:
      'Enter the lost characters again, and check the encoding of the file that the target came from.',
  },
  bidi_control: {
    severity: 'error',
    waivable: true,
    applies: 'the source has the character less often',
    description: 'The target has an invisible character that changes the direction of writing.',
    nextStep: 'Delete the character, or waive the finding in a text written from right to left.',
  },
  zero_width_character: {
    severity: 'warning',
    waivable: true,
    applies: 'the source has the character less often, and it does not join emoji',
    description: 'The target has an invisible character without width, such as U+200B.',
    nextStep: 'Delete the character.',
  },
  unencodable_character: {
    severity: 'error',
    waivable: false,
    applies: 'the field has an encoding',
    description: 'The encoding of the file has no bytes for a character of the target.',
    nextStep: 'Use another character.',
  },
  missing_glyph: {
    severity: 'error',
    waivable: true,
    applies: 'the field has a character set',
    description: 'The font of the game has no glyph for a character of the target.',
    nextStep: 'Use another character, or add it to the font and to the configured character set.',
  },
  too_many_bytes: {
    severity: 'error',
    waivable: false,
    applies: 'the field has a limit of bytes',
    description: 'The target is longer than the field, in bytes of the encoding of the file.',
    nextStep: 'Shorten the target.',
  },
  too_many_characters: {
    severity: 'error',
    waivable: false,
    applies: 'the field has a limit of characters',
    description: 'The target is longer than the field, in Unicode code points.',
    nextStep: 'Shorten the target.',
  },
  too_wide: {
    severity: 'error',
    waivable: true,
    applies: 'the field has a limit of width',
    description:
      'A line of the target is wider than the field. A wide East Asian character counts 2 columns, tags and placeholders none.',
    nextStep: 'Shorten the line or break it.',
  },
  too_many_lines: {
    severity: 'error',
    waivable: true,
    applies: 'the field has a limit of lines',
    description:
      'The target has more lines than the field. Line ends, a written `\\n` and `<br>` begin a line.',
    nextStep: 'Remove line breaks.',
  },
  line_break_mismatch: {
    severity: 'warning',
    waivable: true,
    applies: 'always; an error where the field demands equal line breaks',
    description: 'The target has more or fewer line ends, or more or fewer written `\\n`, than the source.',
    nextStep: 'Break the lines as the source does.',
  },
  number_mismatch: {
    severity: 'warning',
    waivable: true,
    applies: ALWAYS,
    description:
      'A number of the source is missing or the target has another one. Full-width digits and digits in groups are equal to plain ones.',
    nextStep: 'Correct the number, or waive the finding where the target spells it in words.',
  },
  target_equals_source: {
    severity: 'warning',
    waivable: true,
    applies: 'the source has kana',
    description: 'The target is the source, which still has kana.',
    nextStep: 'Translate the text.',
  },
  kana_residue: {
    severity: 'warning',
    waivable: true,
    applies: 'the target language is not Japanese',
    description: 'The target has kana.',
    nextStep: 'Translate the rest, or waive the finding where a name keeps its kana.',
  },
  bracket_balance: {
    severity: 'warning',
    waivable: true,
    applies: ALWAYS,
    description: 'The target has more brackets and quotation marks without a partner than the source.',
    nextStep: 'Add the missing partner or delete the other one.',
  },
  repeated_characters: {
    severity: 'warning',
    waivable: true,
    applies: ALWAYS,
    description: 'A few characters are repeated far more often than in the source.',
    nextStep: 'Delete the repetition.',
  },
  length_ratio: {
    severity: 'warning',
    waivable: true,
    applies: 'the source is at least 16 columns wide',
    description: 'The target is far shorter or far longer than the source, in columns.',
    nextStep: 'Check whether something was left out or added.',
  },
  whitespace_ends: {
    severity: 'warning',
    waivable: true,
    applies: ALWAYS,
    description: 'The target begins or ends with other white space than the source.',
    nextStep: 'Copy the white space at both ends of the source.',
  },
  end_punctuation: {
    severity: 'warning',
    waivable: true,
    applies: 'one of the languages is not Chinese, Japanese or Korean',
    description: 'The target ends with another kind of punctuation than the source.',
    nextStep: 'End the target as the source ends.',
  },
  answer_repeated: {
    severity: 'error',
    waivable: true,
    applies: 'a provider has translated several texts',
    description:
      'A provider gave one translation for many different texts. Texts that differ in digits and punctuation only may have one.',
    nextStep: 'Translate the text, or waive the finding where all of them mean the same.',
  },
  answer_shifted: {
    severity: 'error',
    waivable: true,
    applies: 'a provider has translated several texts',
    description:
      'The numbers and the ends of the translations of one answer fit the texts before or after them, and not their own.',
    nextStep: 'Translate the texts of this answer again.',
  },
  source_copied: {
    severity: 'error',
    waivable: true,
    applies: 'a provider has translated the text',
    description:
      'The translation of a provider is the source, in letters that the target language does not have.',
    nextStep: 'Translate the text, or waive the finding where it stays as it is.',
  },
  wrong_script: {
    severity: 'error',
    waivable: true,
    applies: 'a provider has translated the text',
    description:
      'Most letters of the translation of a provider are not those of the target language. A few of them only cause a warning.',
    nextStep: 'Translate the text into the target language.',
  },
  token_moved: {
    severity: 'warning',
    waivable: true,
    applies: 'a provider has translated the text',
    description:
      'A placeholder or a tag stands within the source and at the beginning of the translation, where models put what they cannot place.',
    nextStep: 'Put it where the sentence needs it.',
  },
  inconsistent_target: {
    severity: 'warning',
    waivable: true,
    applies: 'several units are compared',
    description: 'Units with one source text have different targets.',
    nextStep: 'Choose one target, or waive the finding where the context differs.',
  },
  superseded_wording: {
    severity: 'warning',
    waivable: true,
    applies: 'a record of the Translation Memory is superseded',
    description:
      'The target came from a record of the Translation Memory that another one has replaced since.',
    nextStep: 'Take the wording of the new record, or accept the target as it is.',
  },
} as const satisfies Record<string, CheckDescription>;

export type CheckName = keyof typeof CHECKS;
