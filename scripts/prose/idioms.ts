/** A turn of phrase that native readers stumble over. */
export interface Idiom {
  readonly pattern: RegExp;
  /** Better words, or how to build the sentence. */
  readonly hint: string;
}

/** Where a sentence, a table cell, a list item or a clause begins. */
const START = String.raw`(?:^|[.:;!?|(]\**\s|[-*]\s)\s*`;
/** Up to the end of the sentence, which is not a question. */
const NO_QUESTION = String.raw`(?![^.?!|]*\?)`;

/** A space of `words` also matches a line break. */
function idiom(words: string, hint: string, flags = 'gim'): Idiom {
  return { pattern: new RegExp(words.replaceAll(' ', String.raw`\s+`), flags), hint };
}

export const IDIOMS: readonly Idiom[] = [
  idiom(
    String.raw`${START}Who(?:ever)? \b${NO_QUESTION}`,
    'name the subject: "a client that waits ..."',
    'gm',
  ),
  idiom(
    String.raw`${START}What (?!to\b|is wrong\b)${NO_QUESTION}`,
    'name the thing: "the options of ...", "the object that ..."',
    'gm',
  ),
  idiom(
    String.raw`(?<!\b(?:and|check|checks|decide|decides|describe|describes|explain|explains|exactly|know|knows|or|say|says|see|show|shows|to) )\bwhat (?:is|was|are|were|came|comes|became|they are|it is)\b(?! wrong\b)${NO_QUESTION}`,
    'name the thing instead of "what is ..."',
  ),
  idiom(String.raw`\bwhoever\b|\bwhosoever\b`, 'name the subject'),
  idiom(String.raw`\bat once\b`, 'immediately, together, concurrently, in one step'),
  idiom(String.raw`\banew\b`, 'again, from the start'),
  idiom(
    String.raw`\b(?:go|goes|went|going) on\b(?! (?:the|a|top|this|that|its|one)\b)`,
    'continue, keep, resume',
  ),
  idiom(String.raw`\b(?:is|are|was|were|be|been|being) told\b`, 'learn, receive; or say who notifies whom'),
  idiom(String.raw`\b(?:tell|tells|told) of\b`, 'report, mention'),
  idiom(String.raw`\b(?:comes|came|come) of (?:it|this|that)\b`, 'the result is ...'),
  idiom(String.raw`\b(?:has|have|had) it to say\b|\bhas to say\b`, 'say who reports it'),
  idiom(String.raw`\bon the water\b`, 'no metaphors'),
  idiom(
    String.raw`\b(?:no|not any) [\w-]+ but\b|\bnothing (?:else )?but\b|\bevery [\w-]+ but\b`,
    'only, except',
  ),
  idiom(String.raw`\bbut for\b|\bfor want of\b`, 'except for; because of missing ...'),
  idiom(String.raw`\b(?:is|are|was|were|can|cannot|could|be) (?:be )?had\b`, 'available, held, acquired'),
  idiom(String.raw`\b(?:is|are|was|were|be) taken for\b`, 'treated as'),
  idiom(String.raw`\b(?:the|its|their) (?:one|ones) (?:before|after)\b`, 'previous, next'),
  idiom(String.raw`\b(?:over and over|again and again|for ever)\b`, 'repeatedly, continuously, forever'),
  idiom(String.raw`\ball the same\b`, 'anyway, still'),
  idiom(String.raw`\b(?:end|ends|ended|stop|stops) in order\b`, 'stop cleanly'),
  idiom(String.raw`\b(?:is|are|was|were) there (?:already|twice|no more)\b`, 'already exists, appears twice'),
  idiom(String.raw`\b(?:let|lets|letting) go of\b`, 'release, drop'),
  idiom(String.raw`\bof (?:its|their) own accord\b`, 'automatically, without a request'),
  idiom(String.raw`\bany more\b`, 'no longer, anymore'),
  idiom(String.raw`\bunder way\b`, 'in progress'),
  idiom(String.raw`\bheld against\b`, 'compared with'),
  idiom(String.raw`\bso (?:many|often)\b(?! that\b)`, 'this many, how often'),
  idiom(String.raw`\b(?:is|are|was|were|be) tried again\b`, 'retry'),
  idiom(
    String.raw`(?<!\bthere )\b(?:is|are) no (?!longer\b|more\b|less\b|such\b|one\b|way\b|other\b|different\b|need\b)\w+`,
    'is not a ...',
  ),
];
