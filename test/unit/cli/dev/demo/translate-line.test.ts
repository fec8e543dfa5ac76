import { describe, expect, it } from 'vitest';
import { DEMO_RELEASE_IDS, demoStory } from '../../../../../src/cli/dev/demo/demo-story.ts';
import { translateDemoLine } from '../../../../../src/cli/dev/demo/translate-line.ts';
import { checkTarget } from '../../../../../src/domain/text/checks/check-target.ts';

describe('the translation of the demo releases', () => {
  it.each(DEMO_RELEASE_IDS)('covers every line of %s, and no check finds anything in it', (releaseId) => {
    const lines = [...demoStory(releaseId).scripts.values()].flat();
    const found = lines.map(({ text: source }) => ({ source, target: translateDemoLine(source) }));
    expect(found.length).toBeGreaterThan(8000);
    expect(found.filter(({ target }) => target === null)).toEqual([]);
    const findings = found.flatMap(({ source, target }) =>
      checkTarget({ source, target: target ?? '', sourceLanguage: 'ja', targetLanguage: 'zh-Hans' }),
    );
    expect(findings).toEqual([]);
  });

  it.each(['', 'おはよう', '昨日、図書館で鍵を', '昨日、月で古い地図を見つけました。'])(
    'has none for %j, which is not a demo line',
    (text) => {
      expect(translateDemoLine(text)).toBeNull();
    },
  );
});
