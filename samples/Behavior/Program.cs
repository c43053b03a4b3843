// Behaviors wrap every command in the application's own code: here one keeps an audit trail of changes, and one refuses a tenant's foreign keys.
using System.Collections.Concurrent;
using RedKite;

var audit = new AuditBehavior();
var options = new RedKiteOptions { Port = 0 };
options.Behaviors.Add(audit); // the first one is the outermost
options.Behaviors.Add(new TenantBehavior());
await using RedKiteServer server = await RedKiteServer.StartAsync(options);

using RedKiteSession shop = server.CreateSession();
shop.Execute("CLIENT", "SETNAME", "shop");
Console.WriteLine(shop.Execute("SET", "shop:basket", "3 apples"));
Console.WriteLine(shop.Execute("GET", "shop:basket"));
Console.WriteLine(shop.Execute("GET", "bank:balance"));
foreach (string line in audit.Lines) Console.WriteLine(line);

/// <summary>Keeps who called what, and whether it failed.</summary>
internal sealed class AuditBehavior : RedKite.Behavior
{
    public ConcurrentQueue<string> Lines { get; } = new();

    public override void Invoke(ref CommandCall call)
    {
        Next.Invoke(ref call);
        Lines.Enqueue($"audit: {call.ClientName} {call.Name} {(call.RepliedError ? "refused" : "done")}");
    }
}

/// <summary>A client reaches only keys that begin with its name.</summary>
internal sealed class TenantBehavior : RedKite.Behavior
{
    public override void Invoke(ref CommandCall call)
    {
        if (call.Name is "get" or "set" && !System.Text.Encoding.UTF8.GetString(call[1]).StartsWith($"{call.ClientName}:", StringComparison.Ordinal))
        {
            call.ReplyError("NOTENANT this key belongs to another tenant");
            return;
        }

        Next.Invoke(ref call);
    }
}
