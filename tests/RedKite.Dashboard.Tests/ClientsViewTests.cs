using Microsoft.Playwright;
using RedKite.Server.Metrics;
using RedKite.TestSupport;

namespace RedKite.Dashboard.Tests;

/// <summary>The view of clients: their rows, what delayed them, and closing one.</summary>
public sealed class ClientsViewTests(Browser browser, LoadedServer loaded)
{
    [Fact]
    public async Task Subscriptions_and_transactions_are_shown_with_their_clients()
    {
        await using PageServer server = await PageServer.StartAsync();
        using RespConnection subscriber = RespConnection.Connect(server.Server.Port);
        using RespConnection queueing = RespConnection.Connect(server.Server.Port);
        subscriber.Run("CLIENT SETNAME listener").IsOk();
        subscriber.SendCommand("SUBSCRIBE one two three");
        for (int i = 0; i < 3; i++) subscriber.ReadAny();
        queueing.Run("CLIENT SETNAME queueing").IsOk();
        queueing.Run("WATCH a b").IsOk();
        queueing.Run("MULTI").IsOk();
        for (int i = 0; i < 5; i++) queueing.Run("PING").IsSimple("QUEUED");
        await using PageUnderTest tab = await browser.OpenAsync(server.Address, "/#clients");
        await tab.ReadyAsync("clients");
        // The client is in the list of clients, too.
        Assert.Contains(await tab.Page.Locator("tr", new PageLocatorOptions { HasText = "listener" }).AllInnerTextsAsync(), row => row.Contains("\t3\tnone\t", StringComparison.Ordinal));
        Assert.Contains(await tab.Page.Locator("tr", new PageLocatorOptions { HasText = "queueing" }).AllInnerTextsAsync(), row => row.EndsWith("\t5\t2", StringComparison.Ordinal));
        Assert.Empty(tab.Complaints);
    }

    [Fact]
    public async Task Client_is_closed_from_the_page()
    {
        await using PageServer server = await PageServer.StartAsync();
        using RespConnection client = RespConnection.Connect(server.Server.Port);
        client.Run("CLIENT SETNAME victim");
        await using PageUnderTest tab = await browser.OpenAsync(server.Address, "/#clients");
        tab.Page.Dialog += (_, dialog) => dialog.AcceptAsync();
        await tab.Page.Locator("tr", new PageLocatorOptions { HasText = "victim" }).Locator("button", new LocatorLocatorOptions { HasText = "Close" }).ClickAsync();
        client.Read().IsClosed();
        await tab.Page.GetByText("was closed.").WaitForAsync();
    }

    [Fact]
    public async Task Focus_stays_on_a_rows_button_while_the_table_is_updated()
    {
        await using PageServer server = await PageServer.StartAsync();
        using RespConnection first = RespConnection.Connect(server.Server.Port);
        first.Run("CLIENT SETNAME first");
        await using PageUnderTest tab = await browser.OpenAsync(server.Address, "/#clients");
        ILocator button = tab.Page.Locator("tr", new PageLocatorOptions { HasText = "first" }).Locator("button", new LocatorLocatorOptions { HasText = "Close" });
        await button.FocusAsync();
        using RespConnection second = RespConnection.Connect(server.Server.Port);
        second.Run("CLIENT SETNAME second");
        await tab.Page.Locator("tr", new PageLocatorOptions { HasText = "second" }).WaitForAsync(); // an update
        Assert.True(await button.EvaluateAsync<bool>("button => document.activeElement === button"));
    }

    // One line of time: what delayed this client, and what delayed all.
    [Fact]
    public async Task Delays_of_one_client_are_shown_with_those_of_all_and_without_those_of_others()
    {
        await using PageServer server = await PageServer.StartAsync("slowlog-log-slower-than", "10000");
        using RespConnection slow = RespConnection.Connect(server.Server.Port);
        using RespConnection other = RespConnection.Connect(server.Server.Port);
        slow.Run("CLIENT SETNAME slow");
        other.Run("CLIENT SETNAME other");
        const string Work = "EVAL \"local x = 0 for i = 1, 3000000 do x = x + i end return 1\" 0";
        slow.Run(Work);
        other.Run(Work);
        server.Server.Execute("CONFIG", "SET", "hz", "12"); // concerns all
        await using PageUnderTest tab = await browser.OpenAsync(server.Address, "/#clients");
        await tab.ReadyAsync("clients");
        ILocator rows = tab.Page.Locator("[aria-label='What delayed clients'] tbody tr");
        await rows.Filter(new LocatorFilterOptions { HasText = "other 127" }).First.WaitForAsync();
        await tab.Page.Locator("[aria-label='Clients'] tr", new PageLocatorOptions { HasText = "slow" }).Locator("button", new LocatorLocatorOptions { HasText = "Why?" }).ClickAsync();
        await rows.Filter(new LocatorFilterOptions { HasText = "slow 127" }).First.WaitForAsync();
        await rows.Filter(new LocatorFilterOptions { HasText = "a setting was changed" }).First.WaitForAsync();
        Assert.Equal(0, await rows.Filter(new LocatorFilterOptions { HasText = "other 127" }).CountAsync());
        Assert.Empty(tab.Complaints);
    }

    [Fact]
    public async Task Every_kind_of_event_has_a_text_and_links_to_an_existing_view()
    {
        await using PageUnderTest tab = await browser.OpenAsync(loaded.Server.Address);
#pragma warning disable CA1308 // Words in reports are in lower case.
        string[] kinds = [.. Enum.GetNames<TimelineKind>().Select(kind => kind.ToLowerInvariant()).Order(StringComparer.Ordinal)];
#pragma warning restore CA1308
        Assert.Equal(kinds, await tab.Page.EvaluateAsync<string[]>("import('/app/clients.js').then(module => Object.keys(module.kinds).sort())"));
        string[] views = await tab.Page.EvaluateAsync<string[]>("import('/app/clients.js').then(module => [...new Set(Object.values(module.kinds).map(kind => kind[1]).filter(Boolean))])");
        Assert.Empty(views.Except(ViewTests.Views));
    }
}
