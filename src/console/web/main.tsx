import { render } from 'preact';
import { App } from './app.tsx';
import { followLinks } from './navigation.ts';

followLinks();
const root = document.getElementById('root');
if (root !== null) render(<App />, root);
