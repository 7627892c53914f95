/** The entry point of the dashboard. */

import { mount } from "svelte";
import App from "./App.svelte";
import "./theme.css";

const target = document.getElementById("app");
if (target !== null) mount(App, { target });
