import { useRoute } from 'vitepress';
import DefaultTheme from 'vitepress/theme';
import { nextTick, onMounted, watch } from 'vue';
import { ApiReference } from './api-reference.ts';
import { Diagram } from './diagram.ts';
import './style.css';

export default {
  extends: DefaultTheme,
  enhanceApp({ app }) {
    app.component('Diagram', Diagram);
    app.component('ApiReference', ApiReference);
  },
  setup() {
    const route = useRoute();
    onMounted(hideInnerButtons);
    watch(
      () => route.path,
      () => void nextTick(hideInnerButtons),
    );
  },
};

/** A group of the sidebar is a button. VitePress puts a second one of the same effect into it, which no screen reader can reach. */
function hideInnerButtons() {
  for (const caret of document.querySelectorAll('.VPSidebarItem [role="button"] > .caret')) {
    for (const name of ['role', 'tabindex', 'aria-label']) caret.removeAttribute(name);
  }
}
