import { render } from 'preact';
import { App } from './app.tsx';
import { followLinks } from './navigation.ts';
import { preferredLanguage, speak } from './texts/texts.ts';

followLinks();
const root = document.getElementById('root');
if (root !== null) {
  // Where the language's file is not there any more, English is.
  await speak(preferredLanguage()).catch(() => undefined);
  render(<App />, root);
}
