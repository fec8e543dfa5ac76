import { Button } from '../../../../src/console/components/controls.tsx';
import { usePageKeys, useApp } from '../../../../src/console/state/app.ts';
import type { ComponentSample } from './sample.ts';

/** The kinds of buttons, the toast that tells a result, and a key of the page. */
export const controlSample: ComponentSample = {
  title: 'Buttons, toasts and keys',
  Body: () => {
    const app = useApp();
    usePageKeys([{ keys: 't', text: 'Show a toast', run: () => app.toast('The sample was saved.') }]);
    return (
      <p class="buttons">
        <Button class="primary" onClick={() => app.toast('The sample was saved.')}>
          Primary
        </Button>
        <Button onClick={() => app.toast('The sample was saved.')}>Usual</Button>
        <Button class="danger" onClick={() => app.toast('The sample was refused.', 'bad')}>
          Destructive
        </Button>
        <Button class="plain" onClick={() => app.toast('The sample was saved.')}>
          Plain
        </Button>
        <button type="button" disabled>
          Disabled
        </button>
      </p>
    );
  },
};
