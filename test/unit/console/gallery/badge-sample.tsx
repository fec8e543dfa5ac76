import { Badge } from '../../../../src/console/components/text.tsx';
import type { ComponentSample } from './sample.ts';

/** The tones of states. */
export const badgeSample: ComponentSample = {
  title: 'Badge',
  Body: () => (
    <p class="buttons">
      {(['ok', 'warn', 'bad', 'info', 'idle', 'unknown'] as const).map((tone) => (
        <Badge tone={tone} key={tone}>
          {tone}
        </Badge>
      ))}
    </p>
  ),
};
