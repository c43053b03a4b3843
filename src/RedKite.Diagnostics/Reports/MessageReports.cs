using System.Text.Json;
using RedKite.Server.Model;

namespace RedKite.Server.Diagnostics.Reports;

/// <summary>Reports on messages, caches of clients, and transactions.</summary>
internal static class MessageReports
{
    // No name of a channel or key: only how many there are.
    internal static void Messages(ReportContext report)
    {
        Utf8JsonWriter json = report.Json;
        ServerParts parts = report.Parts;
        var figures = new MessageFigures(parts.Core.Messages, parts.Core.Tracking);
        json.WriteStartObject();
        json.WriteNumber("channels", figures.Channels);
        json.WriteNumber("shard_channels", figures.ShardChannels);
        json.WriteNumber("patterns", figures.Patterns);
        json.WriteNumber("published", figures.Published);
        json.WriteNumber("delivered", figures.Delivered);
        json.WriteNumber("tracking_clients", figures.TrackingClients);
        json.WriteNumber("tracked_keys", figures.TrackedKeys);
        json.WriteNumber("tracked_prefixes", figures.TrackedPrefixes);
        json.WriteNumber("invalidations", figures.Invalidations);
        json.WriteNumber("watching_clients", parts.Core.Watched.Clients);
        json.WriteNumber("watched_keys", parts.Core.Watched.Count);
        json.WriteNumber("transactions_executed", parts.Core.Transactions.Executed);
        json.WriteNumber("transactions_refused", parts.Core.Transactions.Refused);
        json.WriteStartArray("clients");
        foreach (Session session in parts.Core.Clients.InOrder)
        {
            report.Cancellation.ThrowIfCancellationRequested();
            bool takesPart = session.Type == ClientType.PubSub || session.Transaction is not null || session.Watch is { Keys.Count: > 0 };
            if (takesPart) Write(report, session);
        }

        json.WriteEndArray();
        json.WriteEndObject();
    }

    private static void Write(ReportContext report, Session session)
    {
        Utf8JsonWriter json = report.Json;
        json.WriteStartObject();
        json.WriteNumber("id", session.Id);
        json.WriteString("name", report.Shown(session.Name));
        json.WriteString("address", report.Shown(session.Address));
        json.WriteNumber("channels", session.Subscriptions?.CountOf(SubscriptionKind.Channel) ?? 0);
        json.WriteNumber("shard_channels", session.Subscriptions?.CountOf(SubscriptionKind.ShardChannel) ?? 0);
        json.WriteNumber("patterns", session.Subscriptions?.CountOf(SubscriptionKind.Pattern) ?? 0);
        json.WriteNumber("output_bytes", session.Connection?.OutputBytes ?? 0);
        json.WriteNumber("queued_commands", session.Transaction?.Count ?? 0);
        json.WriteNumber("watched_keys", session.Watch?.Keys.Count ?? 0);
        json.WriteEndObject();
    }
}
